package agent

import "context"

type codex struct{ Settings }

func (codex) Name() string                                   { return Codex }
func (codex) Prepare(Launch) (*Start, error)                 { return nil, nil }
func (codex) Check(context.Context, []string, Run) []Finding { return nil }
func (codex) Reader(Used) Reader                             { return nil }
func (codex) Explain(int) string                             { return "" }
