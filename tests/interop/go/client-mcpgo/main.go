// mark3labs/mcp-go's client: both eras.
package main

import (
	"context"
	"fmt"
	"os/exec"

	"bascule/interop/driving"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

type handlers struct {
	job   driving.Job
	heard *driving.Heard
}

func (h handlers) CreateMessage(_ context.Context, req mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	h.heard.Add("sampling/createMessage", req.CreateMessageParams)
	answer := &mcp.CreateMessageResult{}
	driving.Read(h.job.Answers.Sampling, answer)
	return answer, nil
}

func (h handlers) Elicit(_ context.Context, req mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	h.heard.Add("elicitation/create", req.Params)
	answer := &mcp.ElicitationResult{}
	driving.Read(h.job.Answers.Elicitation, answer)
	return answer, nil
}

func (h handlers) ListRoots(_ context.Context, _ mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	h.heard.Add("roots/list", nil)
	answer := &mcp.ListRootsResult{}
	driving.Read(h.job.Answers.Roots, &answer.Roots)
	return answer, nil
}

func transportTo(target driving.Target, era string) (transport.Interface, error) {
	if target.URL != "" {
		options := []transport.StreamableHTTPCOption{}
		if era == "legacy" {
			// A standing stream is legacy: with it this client never tries the modern era.
			options = append(options, transport.WithContinuousListening())
		}
		return transport.NewStreamableHTTP(target.URL, options...)
	}
	start := func(ctx context.Context, command string, env []string, args []string) (*exec.Cmd, error) {
		it := exec.CommandContext(ctx, command, args...)
		it.Dir, it.Env = target.Cwd, env
		return it, nil
	}
	options := transport.WithCommandFunc(start)
	return transport.NewStdioWithOptions(target.Command, target.Environ(), target.Args, options), nil
}

func request(ctx context.Context, it *client.Client, step driving.Step) (any, error) {
	switch step.Method {
	case "tools/list":
		return it.ListTools(ctx, mcp.ListToolsRequest{})
	case "prompts/list":
		return it.ListPrompts(ctx, mcp.ListPromptsRequest{})
	case "resources/list":
		return it.ListResources(ctx, mcp.ListResourcesRequest{})
	case "resources/templates/list":
		return it.ListResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{})
	case "tools/call":
		call := mcp.CallToolRequest{}
		driving.Read(step.Params, &call.Params)
		call.Params.Meta = &mcp.Meta{ProgressToken: "token"}
		return it.CallTool(ctx, call)
	case "prompts/get":
		get := mcp.GetPromptRequest{}
		driving.Read(step.Params, &get.Params)
		return it.GetPrompt(ctx, get)
	case "resources/read":
		read := mcp.ReadResourceRequest{}
		driving.Read(step.Params, &read.Params)
		return it.ReadResource(ctx, read)
	default:
		return nil, fmt.Errorf("no %s here", step.Method)
	}
}

func connect(job driving.Job, heard *driving.Heard) (driving.Client, error) {
	ctx := context.Background()
	way, err := transportTo(job.Target, job.Era)
	if err != nil {
		return driving.Client{}, err
	}
	all := handlers{job, heard}
	options := []client.ClientOption{
		client.WithSamplingHandler(all), client.WithElicitationHandler(all), client.WithRootsHandler(all),
	}
	if job.Era == "legacy" {
		options = append(options, client.WithLegacyProtocolOnly())
	}
	it := client.NewClient(way, options...)
	it.OnNotification(func(notification mcp.JSONRPCNotification) {
		heard.Add(notification.Method, notification.Params)
	})
	if err := it.Start(ctx); err != nil {
		return driving.Client{}, err
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "interop", Version: "1.0.0"}
	shown, err := it.Initialize(ctx, hello)
	if err != nil {
		return driving.Client{}, err
	}
	return driving.Client{
		Shown:   shown,
		Request: func(step driving.Step) (any, error) { return request(ctx, it, step) },
		ErrorOf: func(err error) map[string]any { return map[string]any{"message": err.Error()} },
		Close:   func() { _ = it.Close() },
	}, nil
}

func main() { driving.Drive(connect) }
