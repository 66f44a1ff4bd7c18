// Package apidoc writes the OpenAPI document of the HTTP interface, and the page that shows it, from the table of
// routes, the permission table, and the types of requests and answers with their comments.
package apidoc
