// The official Go SDK. Handlers return what they need from the client, which works in both eras.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type nothing struct{}

type message struct {
	Message string `json:"message"`
}

type numbers struct {
	A int `json:"a"`
	B int `json:"b"`
}

type sum struct {
	Sum int `json:"sum"`
}

type limit struct {
	To int `json:"to"`
}

func text(said string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said}}}
}

func offer(server *mcp.Server) {
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Title: "Echo", Description: "Says it again."},
		func(_ context.Context, _ *mcp.CallToolRequest, in message) (*mcp.CallToolResult, any, error) {
			return text(in.Message), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "add", Description: "Adds two numbers."},
		func(_ context.Context, _ *mcp.CallToolRequest, in numbers) (*mcp.CallToolResult, sum, error) {
			return nil, sum{in.A + in.B}, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "fail", Description: "Always fails."},
		func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New("this tool always fails")
		})
	mcp.AddTool(server, &mcp.Tool{Name: "count", Description: "Counts, with progress."},
		func(ctx context.Context, req *mcp.CallToolRequest, in limit) (*mcp.CallToolResult, any, error) {
			for done := 1; done <= in.To; done++ {
				if token := req.Params.GetProgressToken(); token != nil {
					params := &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(done), Total: float64(in.To)}
					if err := req.Session.NotifyProgress(ctx, params); err != nil {
						return nil, nil, err
					}
				}
			}
			return text(fmt.Sprintf("counted to %d", in.To)), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "log", Description: "Logs at three levels."},
		func(ctx context.Context, req *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, any, error) {
			for _, level := range []mcp.LoggingLevel{"debug", "info", "warning"} {
				params := &mcp.LoggingMessageParams{Level: level, Logger: "interop", Data: "a message"}
				if err := req.Session.Log(ctx, params); err != nil {
					return nil, nil, err
				}
			}
			return text("logged"), nil, nil
		})
}

// ask answers with a question until the client's answer is there.
func ask(question mcp.InputRequest, read func(mcp.InputResponse) string) mcp.ToolHandlerFor[nothing, any] {
	return func(_ context.Context, req *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, any, error) {
		if len(req.Params.InputResponses) == 0 {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"it": question}, RequestState: "asked"}, nil, nil
		}
		return text(read(req.Params.InputResponses["it"])), nil, nil
	}
}

func offerQuestions(server *mcp.Server) {
	name := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"name": {Type: "string"}}}
	mcp.AddTool(server, &mcp.Tool{Name: "ask", Description: "Asks the user for a name."},
		ask(&mcp.ElicitParams{Message: "What is your name?", RequestedSchema: name}, func(answer mcp.InputResponse) string {
			given := answer.(*mcp.ElicitResult)
			return fmt.Sprintf("%s: %v", given.Action, given.Content["name"])
		}))
	hello := &mcp.SamplingMessage{Role: "user", Content: &mcp.TextContent{Text: "Say hello"}}
	mcp.AddTool(server, &mcp.Tool{Name: "sample", Description: "Asks the client's model."},
		ask(&mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{hello}, MaxTokens: 20}, func(answer mcp.InputResponse) string {
			switch given := answer.(type) {
			case *mcp.CreateMessageResult:
				return fmt.Sprintf("%s: %s", given.Model, given.Content.(*mcp.TextContent).Text)
			case *mcp.CreateMessageWithToolsResult:
				return fmt.Sprintf("%s: %s", given.Model, given.Content[0].(*mcp.TextContent).Text)
			default:
				return fmt.Sprintf("%T", answer)
			}
		}))
	mcp.AddTool(server, &mcp.Tool{Name: "roots", Description: "Asks for the client's roots."},
		ask(&mcp.ListRootsParams{}, func(answer mcp.InputResponse) string {
			var uris []string
			for _, root := range answer.(*mcp.ListRootsResult).Roots {
				uris = append(uris, root.URI)
			}
			return strings.Join(uris, ", ")
		}))
}

func offerTexts(server *mcp.Server) {
	server.AddPrompt(
		&mcp.Prompt{Name: "greet", Description: "Greets somebody.", Arguments: []*mcp.PromptArgument{{Name: "name", Required: true}}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			said := &mcp.TextContent{Text: "Please greet " + req.Params.Arguments["name"] + "."}
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: said}}}, nil
		})
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		contents := &mcp.ResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: "this is " + req.Params.URI}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
	}
	server.AddResource(&mcp.Resource{Name: "about", URI: "test://about", MIMEType: "text/plain"}, read)
	server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "item", URITemplate: "test://items/{id}"}, read)
}

func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	values := []string{req.Params.Argument.Value + "-1", req.Params.Argument.Value + "-2"}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: 2}}, nil
}

func newServer() *mcp.Server {
	options := &mcp.ServerOptions{Instructions: "Ask for what you need.", CompletionHandler: complete}
	server := mcp.NewServer(&mcp.Implementation{Name: "go-sdk", Title: "Go", Version: "1.0.0"}, options)
	offer(server)
	offerQuestions(server)
	offerTexts(server)
	return server
}

func main() {
	if os.Args[1] == "stdio" {
		if err := newServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			log.Print(err)
		}
		return
	}
	server := newServer()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[2], mux))
}
