package compat

import "maestro/service/wire"

// Problem is an error as HTTP answers it, with the member that older clients know: the status, where the rules of the
// domain refuse.
type Problem struct {
	wire.Problem
	StatusCode int `json:"statusCode,omitempty"`
}
