package api

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var plainRoute = regexp.MustCompile(`(?:handle\(|answers\(s, )"GET (/api/[^"]+)"`)

// ReadRoutes returns the path of every route below /api that takes GET: those that document themselves, and those that
// the sources register on the mux.
func ReadRoutes() ([]string, error) {
	s := &server{mux: http.NewServeMux()}
	s.routes()
	var routes []string
	for _, r := range s.table.Routes {
		if r.Method == http.MethodGet {
			routes = append(routes, r.Path)
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
	s.routes()
	routes := []string{http.MethodPost + " " + manifestsPath}
	for _, r := range s.table.Routes {
		if r.Method != http.MethodGet {
			routes = append(routes, r.Method+" "+r.Path)
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
