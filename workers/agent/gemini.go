package agent

import "context"

type gemini struct{ Settings }

func (gemini) Name() string                                   { return Gemini }
func (gemini) Prepare(Launch) (*Start, error)                 { return nil, nil }
func (gemini) Check(context.Context, []string, Run) []Finding { return nil }
func (gemini) Reader(Used) Reader                             { return nil }
func (gemini) Explain(int) string                             { return "" }
