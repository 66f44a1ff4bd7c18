// Package examples holds files to learn from, and gives the demonstration its plan.
package examples

import _ "embed"

// Plan is a realistic feature as a plan file: a dozen tasks with parents, dependencies and acceptance criteria.
//
//go:embed plan-two-factor.yaml
var Plan []byte
