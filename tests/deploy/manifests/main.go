// Reads Kubernetes manifests from stdin, and fails on a kind, field or type that the API does not have.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

func main() {
	if err := check(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(manifests io.Reader) error {
	if err := monitoring.AddToScheme(scheme.Scheme); err != nil {
		return err
	}
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	documents := yaml.NewDocumentDecoder(io.NopCloser(manifests))
	defer documents.Close()
	buffer := make([]byte, 1<<20)
	for {
		size, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_, kind, err := decoder.Decode(buffer[:size], nil, nil)
		if err != nil {
			return fmt.Errorf("%w in\n%s", err, buffer[:size])
		}
		fmt.Println(kind.GroupVersion().String(), kind.Kind)
	}
}
