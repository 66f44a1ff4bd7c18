package mcp

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"maestro/commands"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// Catalogue is all tools and resources, whoever may use them.
type Catalogue struct {
	version string
	tools   map[string]*tool
	reads   []resource
}

// New returns the catalogue of the reads of the HTTP interface, and of all commands.
func New(version string, routes []Route) *Catalogue {
	s := &Catalogue{version: version, tools: map[string]*tool{}}
	named := map[string]Route{}
	for _, r := range routes {
		named[r.Name] = r
		if r.Method == http.MethodGet && strings.HasPrefix(r.Path, apiPath) && !slices.Contains(notResources, r.Name) {
			s.reads = append(s.reads, newResource(r))
		}
	}
	slices.SortFunc(s.reads, func(a, b resource) int { return strings.Compare(a.address, b.address) })
	for _, row := range commands.CurrentRules().Rows() {
		if row.Alias == "" && !row.Planned && row.Who&^commands.RoleSystem != 0 {
			s.tools[row.ID] = newTool(row, named)
		}
	}
	return s
}

// Serve returns the server of one caller.
func (s *Catalogue) Serve(c Caller) *sdk.Server {
	about := &sdk.Implementation{Name: wire.Product, Title: "Maestro", Version: s.version}
	server := sdk.NewServer(about, &sdk.ServerOptions{
		Instructions: wire.MCPInstructions,
		// No list is announced: whoever asks again sees what has changed.
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}},
	})
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			switch params := r.GetParams().(type) {
			case *sdk.CallToolParamsRaw:
				return s.call(ctx, c, params)
			case *sdk.ReadResourceParams:
				return s.readResource(ctx, c, params.URI)
			}
			if lists[method] == nil {
				return next(ctx, method, r)
			}
			allowed, answer := c.allowed(ctx)
			if answer.Status != http.StatusOK {
				return nil, problemError(method, answer.Status, problemOf(answer))
			}
			return lists[method](s, c, allowed), nil
		}
	})
	return server
}

// private says that an answer is for its caller alone, and may not be kept.
var private = sdk.Cacheable{CacheScope: "private"}

// lists are the methods that list what the caller may use.
var lists = map[string]func(*Catalogue, Caller, []string) sdk.Result{
	"tools/list": func(s *Catalogue, c Caller, allowed []string) sdk.Result {
		return &sdk.ListToolsResult{Cacheable: private, Tools: s.listed(c, allowed)}
	},
	"resources/list": func(s *Catalogue, c Caller, allowed []string) sdk.Result {
		return &sdk.ListResourcesResult{Cacheable: private, Resources: s.resources(c, allowed)}
	},
	"resources/templates/list": func(s *Catalogue, c Caller, allowed []string) sdk.Result {
		return &sdk.ListResourceTemplatesResult{Cacheable: private, ResourceTemplates: s.templates(c, allowed)}
	},
}

// listed returns the tools of the allowed commands.
func (s *Catalogue) listed(c Caller, allowed []string) []*sdk.Tool {
	list := []*sdk.Tool{}
	for _, id := range allowed {
		t, ok := s.tools[id]
		switch {
		case !ok:
		case c.Session != "":
			list = append(list, t.listed[0])
		default:
			list = append(list, t.listed[1])
		}
	}
	return list
}

// call calls a tool by its name.
func (s *Catalogue) call(ctx context.Context, c Caller, params *sdk.CallToolParamsRaw) (sdk.Result, error) {
	t, ok := s.tools[wire.CommandOf(params.Name)]
	if !ok {
		names := make([]string, 0, len(s.tools))
		for id := range maps.Keys(s.tools) {
			names = append(names, wire.ToolOf(id))
		}
		slices.Sort(names)
		message := "there is no tool '" + safetext.Printable(params.Name) + "'"
		if near := safetext.Nearest(params.Name, names); near != "" {
			message += "; did you mean " + near + "?"
		}
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
	}
	key, _ := params.Meta[wire.MCPKey].(string)
	return t.call(ctx, c, params.Arguments, key), nil
}
