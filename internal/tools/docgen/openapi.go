package main

import (
	"os"
	"path/filepath"
	"strings"

	"maestro/internal/cli"
	"maestro/internal/tools/apidoc"
)

// documentFile returns api/openapi/openapi.json.
func documentFile() string {
	source := apidoc.Source{Root: sourceRoot(), Summaries: map[string]string{}}
	for _, u := range cli.Usages(tree()) {
		source.Summaries[u.ID] = u.Description
	}
	for _, a := range attributes {
		source.Attributes = append(source.Attributes, apidoc.Attribute{
			Name:   a.name,
			Doc:    strings.ReplaceAll(a.value, "`", ""),
			Always: a.presence == always,
		})
	}
	document, err := apidoc.Document(source)
	if err != nil {
		panic("docgen: " + err.Error())
	}
	return string(document)
}

// documentPage returns api/openapi/docs.html.
func documentPage() string {
	page, err := apidoc.Page([]byte(documentFile()))
	if err != nil {
		panic("docgen: " + err.Error())
	}
	return string(page)
}

// sourceRoot returns the root of the repository, above the working directory.
func sourceRoot() string {
	dir, err := os.Getwd()
	if err != nil {
		panic("docgen: " + err.Error())
	}
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	panic("docgen: no go.mod above the working directory")
}
