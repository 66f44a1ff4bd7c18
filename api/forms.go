package api

import (
	"net/http"
	"reflect"
	"sync"

	"maestro/api/compat"
	"maestro/api/route"
	"maestro/service/wire"
	"maestro/workers/manifest"
)

// form documents a route whose handler reads the request, or writes the answer, in a way of its own.
type form struct {
	// name is that of its query if the route is a read with one.
	name string
	// params is a struct whose tags declare the parameters, and headers are the others.
	params  any
	headers []route.Param
	body    any
	// media is the type of the answer's content, "" for that of answers; answer describes it, nil for bytes, and for
	// what the handler declares.
	media  string
	answer any
	status int
}

// The parameters of routes that read their query by themselves.
type (
	ofLogin struct {
		ID string `path:"id" doc:"the login"`
	}
	ofText struct {
		Digest string `path:"digest" doc:"sha256- and 64 hexadecimal digits"`
	}
	ofExport struct {
		ProjectID string `query:"projectId" doc:"only the events of this project, with hashes in place of the others"`
		From      string `query:"from" doc:"the first sequence; 1 if absent"`
		To        string `query:"to" doc:"the last sequence; the newest if absent"`
		Texts     string `query:"texts" doc:"true: also the long texts, after the events"`
	}
	ofVerification struct {
		From string `query:"from" doc:"a head that was kept elsewhere, <sequence>:<hash>: the log must still contain it"`
	}
	ofIdentity struct {
		Credential string `query:"credential" doc:"the public part of a token"`
		Challenge  string `query:"challenge" doc:"16 to 128 bytes that the answer proves knowledge with"`
		Holder     string `query:"holder" doc:"proof that the caller holds the token, with which it is served first"`
	}
)

// forms are those of the routes that [server.handle] registers, by pattern.
var forms = sync.OnceValue(func() map[string]form {
	return map[string]form{
		"GET /api/audit/export": {
			name:   "audit-export",
			params: ofExport{},
			media:  "application/x-ndjson",
		},
		"GET /api/audit/verify":   {name: "audit-verify", params: ofVerification{}},
		"GET /api/audit/texts":    {name: "audit-texts"},
		"GET /api/backup":         {name: "backup", media: "application/x-tar"},
		"GET /api/blobs/{digest}": {name: "blob", params: ofText{}, media: "application/octet-stream"},
		"GET /api/clock":          {name: "clock"},
		"POST /api/clock/confirm": {name: "clock-confirm"},
		"GET /api/live": {
			name:   "live",
			params: wire.LiveFilter{},
			headers: []route.Param{{
				Name: "Last-Event-ID",
				In:   "header",
				Doc:  "the id of the last message that the client has: the answer continues after it",
			}},
			media:  "text/event-stream",
			answer: wire.LiveFrame{},
		},
		"GET /api/manifests/schema": {name: "manifest-schema", media: "application/schema+json"},
		"GET /api/sessions/{id}/manifest": {
			name:   "session-manifest",
			params: wire.SessionID{},
			answer: manifest.Manifest{},
		},
		"POST /api/manifests/generate": {
			name:   "manifest-generate",
			body:   wire.NewManifest{},
			answer: manifest.Manifest{},
		},
		"POST /api/sessions/{id}/heartbeat": {
			name:   "session-heartbeat",
			params: wire.SessionID{},
			status: http.StatusNoContent,
		},
		"POST /api/webhooks/{id}/test": {name: "webhook-test", params: wire.WebhookID{}},
		"GET " + wire.IdentityPath:     {name: "identity", params: ofIdentity{}},
		compat.SocketsRoute:            {name: "sockets"},
		"GET /health":                  {name: "health"},
		"GET /healthz":                 {name: "healthz"},
		"GET /readyz":                  {name: "readyz"},
		"POST /api/login-codes":        {name: "login-code"},
		"GET /api/logins":              {name: "login-list"},
		"DELETE /api/logins/{id}":      {name: "login-end", params: ofLogin{}},
		"GET /{$}":                     {name: "home", media: "text/html"},
		"GET /login":                   {name: "login-page", media: "text/html"},
		"GET /login.js":                {name: "login-script", media: "text/javascript"},
		"POST /login":                  {name: "login", status: http.StatusSeeOther},
		"POST /logout":                 {name: "logout", status: http.StatusSeeOther},
		"GET " + metricsPath:           {name: "metrics", media: "text/plain"},
		documentRoute:                  {name: "openapi", answer: map[string]any{}},
		pageRoute:                      {name: "docs", media: "text/html"},
		styleRoute:                     {name: "docs-style", media: "text/css"},
	}
})

// withForm adds what forms has about a route.
func (s *server) withForm(r Documented) Documented {
	pattern := r.Method + " " + r.Path
	known := forms()[pattern]
	r.Name, r.Media, r.Status = known.name, known.media, known.status
	if r.Status == 0 {
		r.Status = http.StatusOK
	}
	if known.params != nil {
		r.Params = route.ParamsOf(reflect.TypeOf(known.params))
	}
	r.Params = append(r.Params, known.headers...)
	r.Body, r.Answer = typeOf(known.body), typeOf(known.answer)
	if shape := s.shapes[pattern]; shape != nil {
		r.Answer = shape
	}
	if r.Media == "" && r.Answer != nil {
		r.Media = JSON
	}
	return r
}
