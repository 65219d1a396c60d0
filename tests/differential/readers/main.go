// Reads forwarded messages as a Go server does: encoding/json into structs, net/url for addresses.
// One message a line on stdin, base64; one line of JSON facts on stdout.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math"
	"net/url"
	"os"
	"strconv"
	"strings"
)

type arguments struct {
	Force  json.RawMessage `json:"force"`
	Path   json.RawMessage `json:"path"`
	Amount json.RawMessage `json:"amount"`
	Mode   json.RawMessage `json:"mode"`
	Kind   json.RawMessage `json:"kind"`
}

type reference struct {
	Type string `json:"type"`
	Name string `json:"name"`
	URI  string `json:"uri"`
}

type params struct {
	Name      string          `json:"name"`
	URI       string          `json:"uri"`
	Ref       reference       `json:"ref"`
	Arguments json.RawMessage `json:"arguments"`
}

type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

type parsed struct {
	Scheme string `json:"scheme"`
	Host   string `json:"host"`
	Port   string `json:"port"`
	Path   string `json:"path"`
}

type facts struct {
	Method    string            `json:"method,omitempty"`
	ID        string            `json:"id,omitempty"`
	Name      string            `json:"name,omitempty"`
	URI       string            `json:"uri,omitempty"`
	RefType   string            `json:"refType,omitempty"`
	RefName   string            `json:"refName,omitempty"`
	RefURI    string            `json:"refUri,omitempty"`
	Arguments map[string]string `json:"arguments"`
	ParsedURI *parsed           `json:"parsedUri,omitempty"`
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
		if err != nil {
			panic(err)
		}
		encoded, err := json.Marshal(read(text))
		if err != nil {
			panic(err)
		}
		out.Write(append(encoded, '\n'))
		if in.Buffered() == 0 {
			out.Flush()
		}
	}
}

func read(text []byte) []facts {
	if trimmed := bytes.TrimLeft(text, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		var members []json.RawMessage
		if json.Unmarshal(text, &members) != nil {
			return []facts{}
		}
		all := []facts{}
		for _, member := range members {
			all = append(all, one(member)...)
		}
		return all
	}
	return one(text)
}

func one(text []byte) []facts {
	var m message
	if json.Unmarshal(text, &m) != nil {
		return []facts{}
	}
	var p params
	if len(m.Params) > 0 && m.Params[0] == '{' && json.Unmarshal(m.Params, &p) != nil {
		return []facts{}
	}
	holder := p.Arguments
	if len(holder) == 0 && !strings.Contains(m.Method, "/") {
		holder = m.Params
	}
	f := facts{Method: m.Method, Name: p.Name, URI: p.URI, RefType: p.Ref.Type, RefName: p.Ref.Name, RefURI: p.Ref.URI, Arguments: map[string]string{}}
	if len(m.ID) > 0 {
		f.ID = normal(m.ID)
	}
	var a arguments
	if len(holder) > 0 && holder[0] == '{' {
		if json.Unmarshal(holder, &a) != nil {
			return []facts{}
		}
	}
	for name, raw := range map[string]json.RawMessage{"force": a.Force, "path": a.Path, "amount": a.Amount, "mode": a.Mode, "kind": a.Kind} {
		if len(raw) > 0 {
			f.Arguments[name] = normal(raw)
		}
	}
	if p.URI != "" {
		if u, err := url.Parse(p.URI); err == nil {
			f.ParsedURI = &parsed{Scheme: u.Scheme, Host: u.Hostname(), Port: u.Port(), Path: u.Path + u.Opaque}
		}
	}
	return []facts{f}
}

// Numbers as doubles, texts by what they mean; members of objects in their order.
func normal(raw json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var out strings.Builder
	type frame struct {
		object bool
		count  int
	}
	stack := []frame{}
	before := func() {
		if len(stack) == 0 {
			return
		}
		top := &stack[len(stack)-1]
		if top.object && top.count%2 == 1 {
			out.WriteByte(':')
		} else if top.count > 0 {
			out.WriteByte(',')
		}
		top.count++
	}
	for {
		token, err := decoder.Token()
		if err != nil {
			return out.String()
		}
		switch t := token.(type) {
		case json.Delim:
			switch t {
			case '{', '[':
				before()
				out.WriteString(t.String())
				stack = append(stack, frame{object: t == '{'})
			default:
				out.WriteString(t.String())
				stack = stack[:len(stack)-1]
			}
		case json.Number:
			before()
			n, _ := strconv.ParseFloat(t.String(), 64)
			out.WriteString(number(n))
		case string:
			before()
			out.WriteString(quote(t))
		case bool:
			before()
			out.WriteString(strconv.FormatBool(t))
		default:
			before()
			out.WriteString("null")
		}
	}
}

// The bits of the double: every language writes them alike.
func number(n float64) string {
	if math.IsInf(n, 1) {
		return "Infinity"
	}
	if math.IsInf(n, -1) {
		return "-Infinity"
	}
	return "#" + strconv.FormatUint(math.Float64bits(n+0), 16)
}

// The bytes of the text, since every language has its own escapes.
func quote(text string) string {
	return "$" + hex.EncodeToString([]byte(text))
}
