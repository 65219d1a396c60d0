// The official Go SDK's client: both eras.
package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"bascule/interop/driving"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func transportTo(target driving.Target) mcp.Transport {
	if target.URL != "" {
		return &mcp.StreamableClientTransport{Endpoint: target.URL}
	}
	command := exec.Command(target.Command, target.Args...)
	command.Dir, command.Env = target.Cwd, target.Environ()
	return &mcp.CommandTransport{Command: command}
}

func optionsFor(job driving.Job, heard *driving.Heard) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		CreateMessageHandler: func(_ context.Context, req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			heard.Add("sampling/createMessage", req.Params)
			answer := &mcp.CreateMessageResult{}
			driving.Read(job.Answers.Sampling, answer)
			return answer, nil
		},
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			heard.Add("elicitation/create", req.Params)
			answer := &mcp.ElicitResult{}
			driving.Read(job.Answers.Elicitation, answer)
			return answer, nil
		},
		LoggingMessageHandler: func(_ context.Context, req *mcp.LoggingMessageRequest) {
			heard.Add("notifications/message", req.Params)
		},
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			heard.Add("notifications/progress", req.Params)
		},
	}
}

func params[Params any](step driving.Step) *Params {
	into := new(Params)
	driving.Read(step.Params, into)
	return into
}

func request(ctx context.Context, session *mcp.ClientSession, step driving.Step) (any, error) {
	switch step.Method {
	case "tools/list":
		return driving.Pages(func(cursor string) (any, error) {
			return session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		})
	case "prompts/list":
		return driving.Pages(func(cursor string) (any, error) {
			return session.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor})
		})
	case "resources/list":
		return driving.Pages(func(cursor string) (any, error) {
			return session.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor})
		})
	case "resources/templates/list":
		return driving.Pages(func(cursor string) (any, error) {
			return session.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor})
		})
	case "tools/call":
		call := params[mcp.CallToolParams](step)
		call.SetProgressToken("token")
		return session.CallTool(ctx, call)
	case "prompts/get":
		return session.GetPrompt(ctx, params[mcp.GetPromptParams](step))
	case "resources/read":
		return session.ReadResource(ctx, params[mcp.ReadResourceParams](step))
	case "completion/complete":
		return session.Complete(ctx, params[mcp.CompleteParams](step))
	default:
		return nil, fmt.Errorf("no %s here", step.Method)
	}
}

func shownError(err error) map[string]any {
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		return map[string]any{"code": wire.Code, "message": wire.Message, "data": wire.Data}
	}
	return map[string]any{"message": err.Error()}
}

func connect(job driving.Job, heard *driving.Heard) (driving.Client, error) {
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1.0.0"}, optionsFor(job, heard))
	var roots []*mcp.Root
	driving.Read(job.Answers.Roots, &roots)
	client.AddRoots(roots...)
	options := &mcp.ClientSessionOptions{}
	if job.Era == "legacy" {
		options.ProtocolVersion = "2025-11-25"
	}
	session, err := client.Connect(ctx, transportTo(job.Target), options)
	if err != nil {
		return driving.Client{}, err
	}
	return driving.Client{
		Shown:   session.InitializeResult(),
		Request: func(step driving.Step) (any, error) { return request(ctx, session, step) },
		ErrorOf: shownError,
		Close:   func() { _ = session.Close() },
	}, nil
}

func main() { driving.Drive(connect) }
