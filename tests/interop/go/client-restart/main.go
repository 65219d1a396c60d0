// The official Go SDK's client in the legacy era. It does what it is told, a line of JSON at a time.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type order struct {
	Do   string `json:"do"`
	URI  string `json:"uri"`
	Text string `json:"text"`
}

var output sync.Mutex

func say(facts map[string]any) {
	line, err := json.Marshal(facts)
	if err != nil {
		log.Fatal(err)
	}
	output.Lock()
	defer output.Unlock()
	fmt.Println(string(line))
}

func heard(method string) { say(map[string]any{"heard": method}) }

func obey(ctx context.Context, session *mcp.ClientSession, told order) error {
	if told.Do == "subscribe" {
		if err := session.Subscribe(ctx, &mcp.SubscribeParams{URI: told.URI}); err != nil {
			return err
		}
		say(map[string]any{"subscribed": told.URI, "session": session.ID()})
		return nil
	}
	arguments := map[string]any{"text": told.Text}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: arguments})
	if err != nil {
		return err
	}
	say(map[string]any{"called": result.Content[0].(*mcp.TextContent).Text, "session": session.ID()})
	return nil
}

func main() {
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "restart", Version: "1.0.0"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			heard("notifications/tools/list_changed")
		},
		ResourceUpdatedHandler: func(context.Context, *mcp.ResourceUpdatedNotificationRequest) {
			heard("notifications/resources/updated")
		},
	})
	transport := &mcp.StreamableClientTransport{Endpoint: os.Args[1]}
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		log.Fatal(err)
	}
	say(map[string]any{"session": session.ID()})
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var told order
		if err := json.Unmarshal(lines.Bytes(), &told); err != nil {
			log.Fatal(err)
		}
		if err := obey(ctx, session, told); err != nil {
			log.Fatal(err)
		}
	}
}
