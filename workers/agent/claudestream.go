package agent

import (
	"encoding/json"
	"strings"
	"time"
)

// claudeReader reads the stream of Claude Code. Each answer of the model states its usage, and the last line states
// that of the whole run, with subagents and costs; the difference is reported then.
type claudeReader struct {
	began bool
	last  map[string]string // by the call of a subagent, "" for the agent: its last answer, whose usage is counted
	known map[string]Used   // by model, what was reported
}

// claudeLine is what is used of a line.
type claudeLine struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Session string `json:"session_id"`
	Model   string `json:"model"`
	Parent  string `json:"parent_tool_use_id"`
	Message struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Usage   claudeUsage     `json:"usage"`
	} `json:"message"`
	// system, api_retry
	Attempt int     `json:"attempt"`
	DelayMS float64 `json:"retry_delay_ms"`
	Error   any     `json:"error"`
	Status  int     `json:"error_status"`
	// rate_limit_event
	RateLimit struct {
		Status   string `json:"status"`
		ResetsAt int64  `json:"resetsAt"`
	} `json:"rate_limit_info"`
	// result
	IsError bool                        `json:"is_error"`
	API     int                         `json:"api_error_status"`
	Result  string                      `json:"result"`
	Errors  []string                    `json:"errors"`
	Cost    float64                     `json:"total_cost_usd"`
	Models  map[string]claudeModelUsage `json:"modelUsage"`
}

type claudeUsage struct {
	Input   int64 `json:"input_tokens"`
	Created int64 `json:"cache_creation_input_tokens"`
	Read    int64 `json:"cache_read_input_tokens"`
	Output  int64 `json:"output_tokens"`
}

type claudeModelUsage struct {
	Input   int64   `json:"inputTokens"`
	Created int64   `json:"cacheCreationInputTokens"`
	Read    int64   `json:"cacheReadInputTokens"`
	Output  int64   `json:"outputTokens"`
	Cost    float64 `json:"costUSD"`
}

type claudeBlock struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Call    string          `json:"tool_use_id"`
	IsError bool            `json:"is_error"`
	Content json.RawMessage `json:"content"`
}

func (r *claudeReader) Read(line []byte) []Observation {
	var l claudeLine
	if !decode(line, &l) {
		return nil
	}
	switch l.Type {
	case "system":
		return r.system(&l)
	case "assistant":
		return append(r.answer(&l), claudeBlocks(&l)...)
	case "user":
		return claudeBlocks(&l)
	case "rate_limit_event":
		if l.RateLimit.Status != "rejected" {
			return nil
		}
		limited := Retrying{Status: 429, Reason: "the rate limit is reached"}
		if l.RateLimit.ResetsAt > 0 {
			limited.Until = time.Unix(l.RateLimit.ResetsAt, 0).UTC()
		}
		return []Observation{limited}
	case "result":
		return append(r.rest(&l), l.ended())
	}
	return nil
}

func (r *claudeReader) system(l *claudeLine) []Observation {
	switch l.Subtype {
	case "init":
		if r.began {
			return nil
		}
		r.began = true
		return []Observation{Began{Conversation: l.Session, Model: plainModel(l.Model)}}
	case "api_retry":
		reason, _ := l.Error.(string)
		return []Observation{Retrying{
			Status:  l.Status,
			Reason:  clip(reason, maxSummary),
			Attempt: l.Attempt,
			After:   time.Duration(clamp(l.DelayMS*1e6, 1e18)),
		}}
	}
	return nil
}

// plainModel removes the size of the context from a model's name, as in claude-opus-4-8[1m].
func plainModel(name string) string {
	plain, _, _ := strings.Cut(name, "[")
	return clip(plain, maxSummary)
}

// answer returns the usage of an answer of the model. Each of its blocks has a line, and all of them state the usage.
func (r *claudeReader) answer(l *claudeLine) []Observation {
	m := &l.Message
	if m.ID == "" || m.ID == r.last[l.Parent] || strings.HasPrefix(m.Model, "<") { // <synthetic>: of the CLI itself
		return nil
	}
	if r.last == nil {
		r.last = map[string]string{}
	}
	r.last[l.Parent] = m.ID
	used := Used{
		Model:  plainModel(m.Model),
		Input:  sum(m.Usage.Input, m.Usage.Created, m.Usage.Read),
		Cached: sum(m.Usage.Read),
		Output: sum(m.Usage.Output),
	}
	if l.Parent == "" {
		used.Turns = 1
	}
	r.add(used)
	return []Observation{used}
}

func (r *claudeReader) add(used Used) {
	if r.known == nil {
		r.known = map[string]Used{}
	}
	before := r.known[used.Model]
	before.plus(used)
	r.known[used.Model] = before
}

// rest returns what the last line states and no line before it.
func (r *claudeReader) rest(l *claudeLine) (all []Observation) {
	for name, stated := range sorted(l.Models) {
		total := Used{
			Model:      plainModel(name),
			Input:      sum(stated.Input, stated.Created, stated.Read),
			Cached:     sum(stated.Read),
			Output:     sum(stated.Output),
			CostMicros: int64(clamp(stated.Cost*1e6, 1e15)),
		}
		rest := total.minus(r.known[total.Model])
		if rest != (Used{Model: total.Model}) {
			r.add(rest)
			all = append(all, rest)
		}
	}
	return all
}

func (l *claudeLine) ended() Ended {
	if l.Subtype == "success" && !l.IsError {
		return Ended{OK: true}
	}
	reason := l.Result
	if reason == "" {
		reason = strings.Join(l.Errors, "; ")
	}
	if reason == "" {
		reason = l.Subtype
	}
	end := Ended{Cause: causeOf(l.API), Reason: clip(reason, maxText)}
	switch l.Subtype {
	case "error_max_turns":
		end.Cause = CauseTurns
	case "error_max_budget_usd":
		end.Cause = CauseLimit
	case "error_during_execution":
		end.Cause = CauseStopped
	}
	if strings.Contains(reason, "Not logged in") || strings.Contains(reason, "Invalid API key") {
		end.Cause = CauseLogin
	}
	return end
}

func claudeBlocks(l *claudeLine) (all []Observation) {
	var blocks []claudeBlock
	if json.Unmarshal(l.Message.Content, &blocks) != nil {
		return nil // the prompt is a text
	}
	for i := range blocks {
		b := &blocks[i]
		switch {
		case b.Type == "text" && l.Type == "assistant" && l.Parent == "":
			all = append(all, Said{clip(b.Text, maxText)})
		case b.Type == "tool_use":
			command := ""
			if kinds[Claude][b.Name] == KindShell {
				command = argument(b.Input, "command")
			}
			all = append(all, Called{
				ID:       b.ID,
				Tool:     clip(b.Name, maxSummary),
				Key:      keyOf(Claude, b.Name, b.ID, command),
				Command:  command,
				Summary:  summary(command, b.Input),
				Subagent: l.Parent != "",
			})
		case b.Type == "tool_result":
			all = append(all, Returned{ID: b.Call, Failed: b.IsError, Text: clip(claudeText(b.Content), maxText)})
		}
	}
	return all
}

// claudeText returns the text of a tool's result: a text, or a list of blocks.
func claudeText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []claudeBlock
	_ = json.Unmarshal(content, &blocks) // anything else has no text
	var texts []string
	for _, b := range blocks {
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, "\n")
}
