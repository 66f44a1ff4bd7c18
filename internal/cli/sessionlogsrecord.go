package cli

import (
	"bytes"
	"encoding/json"

	"maestro/workers/agent"
)

// logRecord is an object of `session logs -o jsonl`.
type logRecord struct {
	// Kind is said, called, returned, retrying, ended or line.
	Kind string `json:"kind"`
	Text string `json:"text,omitempty"`
	// ID is that of a call, which Tool and Command describe; what it returned has the same.
	ID      string `json:"id,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Command string `json:"command,omitempty"`
	Failed  bool   `json:"failed,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
}

// record prints an object, or keeps it for the one document.
func (c *sessionLogs) record(record any) {
	if c.format == "jsonl" {
		c.WriteJSON(record)
		return
	}
	c.records = append(c.records, record)
}

// lineRecord returns the object for a line: the line itself if it is one, as each decision is.
func lineRecord(line []byte, isObject bool) any {
	line = bytes.TrimRight(line, "\r\n")
	if isObject && json.Valid(line) {
		return json.RawMessage(bytes.Clone(line))
	}
	return logRecord{Kind: "line", Text: string(line)}
}

// recordOf returns the object for what an agent did; there is none for what it only counts.
func recordOf(o agent.Observation) (record logRecord, ok bool) {
	switch o := o.(type) {
	case agent.Said:
		return logRecord{Kind: "said", Text: o.Text}, true
	case agent.Called:
		return logRecord{
			Kind:    "called",
			ID:      o.ID,
			Tool:    o.Tool,
			Command: o.Command,
			Text:    o.Summary,
		}, true
	case agent.Returned:
		return logRecord{
			Kind:   "returned",
			ID:     o.ID,
			Text:   o.Text,
			Failed: o.Failed,
		}, true
	case agent.Retrying:
		return logRecord{Kind: "retrying", Text: o.Reason, Attempt: o.Attempt}, true
	case agent.Ended:
		return logRecord{Kind: "ended", Text: o.Reason, Failed: !o.OK}, true
	case agent.Began, agent.Used:
	}
	return logRecord{}, false
}
