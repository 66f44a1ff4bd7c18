package compat

import "maestro/service/wire"

// Problem is an error as HTTP sends it, with the member for older clients: the status, if the rules of the domain
// refuse.
type Problem struct {
	wire.Problem
	StatusCode int `json:"statusCode,omitempty"`
}
