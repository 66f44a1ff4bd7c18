package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
	"maestro/workers/outbox"
)

// modelServer is `maestro mcp`. It knows no tools: it passes on what a model asks to the server's /mcp, as the caller
// that every other command line of this process is.
type modelServer struct {
	*Run
	// mu guards the Run, which serves one command at a time, and tools.
	mu sync.Mutex
	// tools is the last list of tools: a model whose client asks once keeps them while the server is away.
	tools *sdk.ListToolsResult
}

func newMCP(a *Run) *cobra.Command {
	c := &modelServer{Run: a}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve MCP on stdin and stdout: your commands as tools for an AI agent",
		Args:  Takes,
		Long: `Serve the Model Context Protocol (MCP) on stdin and stdout, for an AI agent that
starts this command itself. Its tools are the commands that you may use, its
resources what you may read. It acts as the session or user of its environment,
like any other command.

A report that does not reach the server is kept, and sent with a later call.
Messages for people go to stderr.`,
		RunE: Running(c.run),
	}
	return Untold(cmd)
}

func (c *modelServer) run(ctx context.Context, _ []string) error {
	if c.asData() {
		return failure.Usage("`maestro mcp` has no other output than that of its protocol").
			WithNext("leave --json and --output out")
	}
	about := &sdk.Implementation{Name: wire.Product, Title: "Maestro", Version: Version()}
	server := sdk.NewServer(about, &sdk.ServerOptions{
		Instructions: wire.MCPInstructions,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}},
	})
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if params, ok := r.GetParams().(*sdk.CallToolParamsRaw); ok {
				return c.call(ctx, params)
			}
			if empty := relayed[method]; empty != nil {
				result, err := empty(), error(nil)
				if err = c.pass(ctx, method, r.GetParams(), result); err == nil {
					c.remember(result)
					return result, nil
				}
				if known := c.remembered(method, err); known != nil {
					return known, nil
				}
				return nil, protocolError(err)
			}
			return next(ctx, method, r)
		}
	})
	err := server.Run(ctx, newStdio(c.Stdin, c.Stdout))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// relayed are the methods that the server answers, besides the calls of tools, each with its empty result.
var relayed = map[string]func() sdk.Result{
	"tools/list":               func() sdk.Result { return new(sdk.ListToolsResult) },
	"resources/list":           func() sdk.Result { return new(sdk.ListResourcesResult) },
	"resources/templates/list": func() sdk.Result { return new(sdk.ListResourceTemplatesResult) },
	"resources/read":           func() sdk.Result { return new(sdk.ReadResourceResult) },
}

// pass asks the server, and finds it again if it has moved. What the session said before goes first.
func (c *modelServer) pass(ctx context.Context, method string, params, result any) error {
	server, err := c.server(ctx)
	if err != nil {
		return err
	}
	err = server.MCP(ctx, method, params, result)
	if errors.As(err, new(*client.ConnectionError)) {
		c.lose(server)
	}
	return err
}

// server returns the client, once the kept commands are delivered.
func (c *modelServer) server(ctx context.Context) (*client.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil {
		c.delivered, c.backlog = false, nil
		if _, err := c.connect(ctx); err != nil { // it delivers them
			return nil, err
		}
		return c.client, c.backlog
	}
	c.delivered, c.backlog = false, nil
	if err := c.deliverFirst(ctx, c.client); err != nil {
		return nil, err
	}
	return c.client, c.backlog
}

// lose forgets a server that does not answer: the next call looks for it again.
func (c *modelServer) lose(server *client.Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == server {
		c.client.Close()
		c.client, c.moved = nil, ""
	}
}

func (c *modelServer) remember(result sdk.Result) {
	if tools, ok := result.(*sdk.ListToolsResult); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tools = tools
	}
}

// remembered returns the last list of tools if the server is away; nil for anything else.
func (c *modelServer) remembered(method string, err error) sdk.Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	if method != "tools/list" || c.tools == nil || !notNow(err) {
		return nil
	}
	return c.tools
}

// call calls a tool. Each call has a key, so that one whose answer was lost runs once.
func (c *modelServer) call(ctx context.Context, params *sdk.CallToolParamsRaw) (sdk.Result, error) {
	said := time.Now()
	passed := *params
	passed.Meta = maps.Clone(params.Meta)
	if passed.Meta == nil {
		passed.Meta = sdk.Meta{}
	}
	key := uuid.NewString()
	passed.Meta[wire.MCPKey] = key
	result := new(sdk.CallToolResult)
	err := c.pass(ctx, "tools/call", &passed, result)
	var refused *client.ProtocolError
	switch {
	case err == nil:
		return result, nil
	case errors.As(err, &refused):
		return nil, protocolError(err)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	if text, kept := c.keep(ctx, params, key, said, err); kept != nil {
		err = kept
	} else if text != "" {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
	}
	return &sdk.CallToolResult{
		IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: sentences(err)}},
	}, nil
}

// keep keeps a session's report that did not reach the server, as its command line does. It returns what to tell the
// model; "" if the command is none that is kept.
func (c *modelServer) keep(
	ctx context.Context, params *sdk.CallToolParamsRaw, key string, said time.Time, missed error,
) (string, error) {
	id := wire.KeptCommandOf(params.Name)
	if !c.isSession() || id == "" || !notNow(missed) {
		return "", nil
	}
	fields := map[string]json.RawMessage{}
	if len(params.Arguments) > 0 {
		if err := json.Unmarshal(params.Arguments, &fields); err != nil {
			return "", nil
		}
	}
	for _, name := range []string{wire.ArgIfFinished, wire.ArgIfNew} { // only a first attempt may be refused for these
		delete(fields, name)
	}
	if string(fields[wire.ArgDryRun]) == "true" {
		return "", nil
	}
	delete(fields, wire.ArgDryRun)
	if own, ok := fields[wire.ArgKey]; ok {
		if err := json.Unmarshal(own, &key); err != nil {
			return "", nil
		}
		delete(fields, wire.ArgKey)
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return "", nil
	}
	if err := guardHere(c.Run, id); err != nil {
		return "", err
	}
	if err := worthKeeping(id, body, key); err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting, err := keepCommand(ctx, c.Run, outbox.Entry{
		Command:     id,
		Body:        body,
		Key:         key,
		OccurredAt:  said,
		TraceParent: c.traceParent(),
	})
	if err != nil {
		return "", notKept(missed, err)
	}
	return fmt.Sprintf("%s kept, %d waiting: %s. It is sent with your next call, in order", id, waiting,
		whyNotNow(missed)), nil
}

// sentences says what an error is: what, why, and what to do next.
func sentences(err error) string {
	e := explain(err)
	lines := []string{e.code + ": " + safetext.Continued(e.message)}
	if e.why != "" {
		lines = append(lines, "why: "+safetext.Continued(e.why))
	}
	if e.next != "" {
		lines = append(lines, "next: "+safetext.Continued(e.next))
	}
	return strings.Join(lines, "\n")
}

// protocolError is an error in the protocol's form: the server's own, or that it was not reached.
func protocolError(err error) error {
	var refused *client.ProtocolError
	if errors.As(err, &refused) {
		return &jsonrpc.Error{Code: refused.Code, Message: refused.Message, Data: refused.Data}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: sentences(err)}
}
