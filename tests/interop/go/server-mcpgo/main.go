// mark3labs/mcp-go. Handlers return what they need from the client, which works in both eras.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type completions struct{}

func (completions) CompletePromptArgument(
	_ context.Context, _ string, argument mcp.CompleteArgument, _ mcp.CompleteContext,
) (*mcp.Completion, error) {
	return &mcp.Completion{Values: []string{argument.Value + "-1", argument.Value + "-2"}, Total: 2}, nil
}

// The library sends notifications on another goroutine than results: without a pause the last ones come too late.
const pause = 50 * time.Millisecond

func offer(it *server.MCPServer) {
	it.AddTool(mcp.NewTool("echo", mcp.WithDescription("Says it again."), mcp.WithString("message", mcp.Required())),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			said, err := req.RequireString("message")
			if err != nil {
				return mcp.NewToolResultError(err.Error()), nil
			}
			return mcp.NewToolResultText(said), nil
		})
	numbers := []mcp.ToolOption{mcp.WithNumber("a", mcp.Required()), mcp.WithNumber("b", mcp.Required())}
	it.AddTool(mcp.NewTool("add", append(numbers, mcp.WithDescription("Adds two numbers."))...),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			a, err := req.RequireInt("a")
			if err != nil {
				return nil, err
			}
			b, err := req.RequireInt("b")
			if err != nil {
				return nil, err
			}
			return mcp.NewToolResultStructured(map[string]any{"sum": a + b}, fmt.Sprint(a+b)), nil
		})
	it.AddTool(mcp.NewTool("fail", mcp.WithDescription("Always fails.")),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("this tool always fails")
		})
	it.AddTool(mcp.NewTool("count", mcp.WithDescription("Counts, with progress."), mcp.WithNumber("to")),
		func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			to := req.GetInt("to", 1)
			for done := 1; done <= to; done++ {
				if meta := req.Params.Meta; meta != nil && meta.ProgressToken != nil {
					params := map[string]any{"progressToken": meta.ProgressToken, "progress": done, "total": to}
					if err := it.SendNotificationToClient(ctx, "notifications/progress", params); err != nil {
						return nil, err
					}
					time.Sleep(pause)
				}
			}
			return mcp.NewToolResultText(fmt.Sprintf("counted to %d", to)), nil
		})
	it.AddTool(mcp.NewTool("log", mcp.WithDescription("Logs at three levels.")),
		func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for _, level := range []mcp.LoggingLevel{"debug", "info", "warning"} {
				message := mcp.NewLoggingMessageNotification(level, "interop", "a message")
				if err := it.SendLogMessageToClient(ctx, message); err != nil {
					return nil, err
				}
				time.Sleep(pause)
			}
			return mcp.NewToolResultText("logged"), nil
		})
}

func offerQuestions(it *server.MCPServer) {
	name := map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}
	it.AddTool(mcp.NewTool("ask", mcp.WithDescription("Asks the user for a name.")),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if answer := server.ElicitationResponse(req.Params.InputResponses, "it"); answer != nil {
				return mcp.NewToolResultText(fmt.Sprintf("%s: %v", answer.Action, answer.Content)), nil
			}
			question := mcp.ElicitationParams{Mode: mcp.ElicitationModeForm, Message: "What is your name?", RequestedSchema: name}
			return server.NewInputRequestBuilder("asked").Elicit("it", question).ToolResult(), nil
		})
	it.AddTool(mcp.NewTool("sample", mcp.WithDescription("Asks the client's model.")),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if answer := server.SamplingResponse(req.Params.InputResponses, "it"); answer != nil {
				return mcp.NewToolResultText(fmt.Sprintf("%s: %v", answer.Model, answer.Content)), nil
			}
			hello := mcp.SamplingMessage{Role: mcp.RoleUser, Content: mcp.NewTextContent("Say hello")}
			question := mcp.CreateMessageParams{Messages: []mcp.SamplingMessage{hello}, MaxTokens: 20}
			return server.NewInputRequestBuilder("asked").Sample("it", question).ToolResult(), nil
		})
	it.AddTool(mcp.NewTool("roots", mcp.WithDescription("Asks for the client's roots.")),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if answer := server.RootsResponse(req.Params.InputResponses, "it"); answer != nil {
				var uris []string
				for _, root := range answer.Roots {
					uris = append(uris, root.URI)
				}
				return mcp.NewToolResultText(strings.Join(uris, ", ")), nil
			}
			return server.NewInputRequestBuilder("asked").Roots("it").ToolResult(), nil
		})
}

func offerTexts(it *server.MCPServer) {
	it.AddPrompt(mcp.NewPrompt("greet", mcp.WithPromptDescription("Greets somebody."), mcp.WithArgument("name", mcp.RequiredArgument())),
		func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			said := mcp.NewTextContent("Please greet " + req.Params.Arguments["name"] + ".")
			return mcp.NewGetPromptResult("Greets.", []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, said)}), nil
		})
	read := func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		contents := mcp.TextResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: "this is " + req.Params.URI}
		return []mcp.ResourceContents{contents}, nil
	}
	it.AddResource(mcp.NewResource("test://about", "about", mcp.WithMIMEType("text/plain")), read)
	it.AddResourceTemplate(mcp.NewResourceTemplate("test://items/{id}", "item"), read)
}

func main() {
	it := server.NewMCPServer("mcp-go", "1.0.0",
		server.WithInstructions("Ask for what you need."), server.WithLogging(), server.WithCompletions(),
		server.WithElicitation(), server.WithRoots(), server.WithPromptCompletionProvider(completions{}))
	it.EnableSampling()
	offer(it)
	offerQuestions(it)
	offerTexts(it)
	if os.Args[1] == "stdio" {
		if err := server.ServeStdio(it); err != nil {
			log.Print(err)
		}
		return
	}
	log.Fatal(server.NewStreamableHTTPServer(it).Start("127.0.0.1:" + os.Args[2]))
}
