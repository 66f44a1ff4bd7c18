// Package examples holds files to learn from, and gives the demonstration its plan.
package examples

import _ "embed"

// Plan is a feature as a plan file: 17 tasks below one, with dependencies, and one beside them.
//
//go:embed plan-languages.yaml
var Plan []byte
