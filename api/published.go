package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"maestro/api/openapi"
)

// The description of the API is the same for every home and every caller of a version, and is part of the source. A
// browser sends no token when somebody opens a page, so these routes need none; the limits of an address apply.
const (
	documentRoute = "GET /api/openapi.json"
	pageRoute     = "GET /api/docs"
	styleRoute    = "GET /api/docs/style.css"
)

// published are the routes below /api that need no token.
var published = map[string]bool{documentRoute: true, pageRoute: true, styleRoute: true}

// isPublished reports whether a request reads the description of the API.
func isPublished(r *http.Request) bool {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	return reads && published[http.MethodGet+" "+r.URL.Path]
}

// stylePolicy permits the page its style sheet, and nothing else.
var stylePolicy = []string{
	"default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}

func (s *server) publishedRoutes() {
	s.publish(documentRoute, "This API as an OpenAPI 3.1 document", JSON, openapi.Document)
	s.publish(pageRoute, "This API as a page for people", "text/html; charset=utf-8", openapi.Page)
	s.publish(styleRoute, "The style sheet of that page", "text/css; charset=utf-8", openapi.Style)
}

// publish registers a route that serves a file of the program. A client that has it already gets 304.
func (s *server) publish(pattern, summary, contentType string, file []byte) {
	digest := sha256.Sum256(file)
	tag := `"` + hex.EncodeToString(digest[:16]) + `"`
	s.document(pattern, summary)
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Type", contentType)
		header.Set("Cache-Control", "no-cache")
		header.Set("ETag", tag)
		if strings.HasPrefix(contentType, "text/html") {
			header["Content-Security-Policy"] = stylePolicy
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(file))
	})
}
