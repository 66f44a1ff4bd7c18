package api

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

var plainRoute = regexp.MustCompile(`(?:handle\(|answers\(s, )"GET (/api/[^"]+)"`)

// ReadRoutes returns the path of every route below /api that takes GET: those that document themselves, and those that
// the sources register on the mux.
func ReadRoutes() ([]string, error) {
	s := &server{mux: http.NewServeMux()}
	s.huma = newHuma(s.mux, "test")
	s.routes()
	var routes []string
	for path, item := range s.huma.OpenAPI().Paths {
		if item.Get != nil {
			routes = append(routes, path)
		}
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		return nil, err
	}
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		text, err := os.ReadFile(source)
		if err != nil {
			return nil, err
		}
		for _, found := range plainRoute.FindAllStringSubmatch(string(text), -1) {
			routes = append(routes, found[1])
		}
	}
	return routes, nil
}

var plainWrite = regexp.MustCompile(`(?:handle\(|answers\(s, )"((?:POST|PUT|PATCH|DELETE) /api/[^"]+)"`)

// WriteRoutes returns method and path of every route below /api that takes a write, but the commands' own.
func WriteRoutes() ([]string, error) {
	s := &server{mux: http.NewServeMux()}
	s.huma = newHuma(s.mux, "test")
	s.routes()
	routes := []string{http.MethodPost + " " + manifestsPath}
	for path, item := range s.huma.OpenAPI().Paths {
		for _, operation := range []*huma.Operation{item.Post, item.Put, item.Patch, item.Delete} {
			if operation != nil {
				routes = append(routes, operation.Method+" "+path)
			}
		}
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		return nil, err
	}
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			return nil, err
		}
		for _, found := range plainWrite.FindAllStringSubmatch(string(text), -1) {
			routes = append(routes, found[1])
		}
	}
	return routes, nil
}
