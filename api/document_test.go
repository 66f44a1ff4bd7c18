package api

import (
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"maestro/api/route"
)

// documentOf returns the OpenAPI document of the registered routes.
func documentOf(table route.Table) *huma.OpenAPI {
	schemas := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	for from, as := range table.Alias {
		schemas.RegisterTypeAlias(from, as)
	}
	document := &huma.OpenAPI{
		OpenAPI:    "3.1.0",
		Info:       &huma.Info{Title: "Maestro", Version: "test"},
		Components: &huma.Components{Schemas: schemas},
	}
	for _, r := range table.Routes {
		operation := &huma.Operation{
			OperationID: r.Name,
			Method:      r.Method,
			Path:        r.Path,
			Summary:     r.Summary,
			Responses: map[string]*huma.Response{strconv.Itoa(max(r.Status, http.StatusOK)): {
				Content: map[string]*huma.MediaType{
					"application/json": {Schema: schemas.Schema(r.Answer, true, r.Name+"-answer")},
				},
			}},
		}
		for _, p := range r.Params {
			operation.Parameters = append(operation.Parameters, &huma.Param{
				Name:        p.Name,
				In:          p.In,
				Description: p.Doc,
				Required:    p.In == "path",
				Schema:      &huma.Schema{Type: huma.TypeString},
			})
		}
		document.AddOperation(operation)
	}
	return document
}
