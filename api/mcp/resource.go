package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"maestro/service/wire"
)

// scheme begins the address of a resource. What follows is the path of its route below apiPath.
const (
	scheme  = "maestro://"
	apiPath = "/api/"
)

// notResources are reads with a secret in their answer, and those that do not end or are not a text.
var notResources = []string{
	"session-credential", "runner-credential", "webhook-secret", "live", "backup", "audit-export",
}

// argSession is the parameter of reads about a session.
const argSession = "sessionId"

// resource is a read as a resource.
type resource struct {
	Route

	// address is the template of its address; own says that it may be about the caller's own session.
	address string
	own     bool
}

func newResource(r Route) resource {
	x := resource{Route: r, address: scheme + strings.TrimPrefix(r.Path, apiPath)}
	var query []string
	for _, p := range r.Params {
		name := r.argumentOf(p).name
		x.own = x.own || name == argSession
		if p.In != "path" {
			query = append(query, p.Name)
			continue
		}
		named := strings.NewReplacer("{"+p.Name+"}", "{"+name+"}", "{"+p.Name+"...}", "{"+name+"}")
		x.address = named.Replace(x.address)
	}
	if len(query) > 0 {
		x.address += "{?" + strings.Join(query, ",") + "}"
	}
	return x
}

// permitted reports whether one of the rows of a read is among the allowed commands.
func (x resource) permitted(allowed []string) bool {
	return slices.ContainsFunc(x.Rows, func(row string) bool { return slices.Contains(allowed, row) })
}

// ofOthers reports whether the caller may read it of other sessions than its own.
func (x resource) ofOthers(allowed []string) bool {
	return !x.own || slices.ContainsFunc(x.Rows, func(row string) bool {
		return row != "whoami" && row != waitsForMail && slices.Contains(allowed, row)
	})
}

// resources returns the resources without parameters that the caller may read, and those of its own session.
func (s *Catalogue) resources(c Caller, allowed []string) []*sdk.Resource {
	list := []*sdk.Resource{}
	for _, x := range s.reads {
		if !x.permitted(allowed) {
			continue
		}
		address, _, _ := strings.Cut(x.address, "{?")
		if x.own && c.Session != "" {
			address = strings.Replace(address, "{"+argSession+"}", c.Session, 1)
		}
		if c.Session != "" && !x.ofOthers(allowed) && !strings.Contains(address, c.Session) {
			address += "?" + argSession + "=" + c.Session
		}
		if x.Path == "/api/projects/{id}/status" && c.Project != "" {
			address = strings.Replace(address, "{projectId}", c.Project, 1)
		}
		if !strings.Contains(address, "{") {
			list = append(list, &sdk.Resource{
				Name:        x.Name,
				URI:         address,
				Description: x.Summary,
				MIMEType:    "application/json",
			})
		}
	}
	return list
}

// templates returns the resources with parameters that the caller may read.
func (s *Catalogue) templates(c Caller, allowed []string) []*sdk.ResourceTemplate {
	list := []*sdk.ResourceTemplate{}
	for _, x := range s.reads {
		if !x.permitted(allowed) || !strings.Contains(x.address, "{") || c.Session != "" && !x.ofOthers(allowed) {
			continue
		}
		list = append(list, &sdk.ResourceTemplate{
			Name:        x.Name,
			URITemplate: x.address,
			Description: x.Summary,
			MIMEType:    "application/json",
		})
	}
	return list
}

// readResource reads a resource: the same bytes as its route.
func (s *Catalogue) readResource(ctx context.Context, c Caller, uri string) (*sdk.ReadResourceResult, error) {
	path, query, _ := strings.Cut(strings.TrimPrefix(uri, scheme), "?")
	values, err := url.ParseQuery(query)
	if !strings.HasPrefix(uri, scheme) || err != nil || !slices.ContainsFunc(s.reads, func(x resource) bool {
		return matches(x.Path, "/api/"+path)
	}) {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	answer := c.get(ctx, "/api/"+path, values)
	if answer.Status >= http.StatusMultipleChoices {
		return nil, problemError(uri, answer.Status, problemOf(answer))
	}
	if answer.Cut || !utf8.Valid(answer.Body) {
		return nil, problemError(uri, http.StatusRequestEntityTooLarge, tooLong("maestro --help"))
	}
	kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	result := &sdk.ReadResourceResult{
		Cacheable: private,
		Contents:  []*sdk.ResourceContents{{URI: uri, MIMEType: kind, Text: string(answer.Body)}},
	}
	if next := answer.Header.Get(wire.HeaderNext); next != "" {
		result.Meta = sdk.Meta{"cursor": next}
	}
	return result, nil
}

// matches reports whether a path is one of a route. A route's last parameter may take the rest.
func matches(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	for i, segment := range want {
		switch {
		case i >= len(got):
			return false
		case segment == got[i]:
			continue
		case !strings.HasPrefix(segment, "{") || slices.Contains([]string{"", ".", ".."}, got[i]):
			return false
		case strings.HasSuffix(segment, "...}"):
			return true // the mux knows what is no path
		}
	}
	return len(want) == len(got)
}

// problemError is a problem as an error of the protocol.
func problemError(uri string, status int, p wire.Problem) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	code := int64(jsonrpc.CodeInvalidParams)
	if status >= http.StatusInternalServerError {
		code = jsonrpc.CodeInternalError
	}
	return &jsonrpc.Error{Code: code, Message: uri + ": " + sentences(p), Data: data}
}
