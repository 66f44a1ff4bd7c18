// Package mcp serves the Model Context Protocol (MCP) from the HTTP interface: tools are the commands that the caller
// may use, resources are the reads. It decides nothing and knows no state: each call becomes a request of the HTTP
// interface, made with the caller's credential, so that permissions, limits, refusals and answers are the same.
//
// There is no session: each request stands for itself, and what it shows depends on the credential alone.
package mcp
