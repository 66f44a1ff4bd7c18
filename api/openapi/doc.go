// Package openapi holds the published description of the HTTP interface: the OpenAPI document and the page that shows
// it, both written by `make generate`.
package openapi

import _ "embed"

// Document is the OpenAPI 3.1 document, Page shows it, and Style is the page's style sheet.
var (
	//go:embed openapi.json
	Document []byte
	//go:embed docs.html
	Page []byte
	//go:embed docs.css
	Style []byte
)
