package agent

import (
	"context"
	"errors"
)

// command runs a configured command as an agent. It gets the system prompt and the task prompt, separated by an empty
// line, on standard input or in the file that MAESTRO_PROMPT_FILE names. To be resumed, it can print the id of its
// conversation; it then finds it in MAESTRO_CONVERSATION. It has no hook.
type command struct {
	name string
	Settings
}

// The variables of a configured command.
const (
	envPromptFile   = "MAESTRO_PROMPT_FILE"
	envConversation = "MAESTRO_CONVERSATION"
	envSkills       = "MAESTRO_SKILLS"
	envModel        = "MAESTRO_MODEL"
)

func (d command) Name() string { return d.name }

func (d command) Prepare(l Launch) (start *Start, err error) {
	if err := d.missing(); err != nil {
		return nil, err
	}
	s, err := openState(&l, d.name)
	if err != nil {
		return nil, err
	}
	defer s.closing(&err)
	prompt := []byte(l.Prompt)
	if l.System != "" {
		prompt = []byte(l.System + "\n\n" + l.Prompt)
	}
	own := variables{}
	start = &Start{
		Path:       d.Command[0],
		Args:       d.Command[1:],
		Dir:        l.Target,
		Output:     d.name + ".jsonl",
		ReadWrite:  []string{s.path(".")},
		CountTurns: true,
	}
	if d.Prompt == "file" {
		const name = "prompt.txt"
		if err := s.write(name, prompt); err != nil {
			return nil, err
		}
		own[envPromptFile] = s.path(name)
		start.ReadOnly = append(start.ReadOnly, s.path(name))
	} else {
		start.Stdin = prompt
	}
	if err := s.copySkills(l.Skills, "skills"); err != nil {
		return nil, err
	}
	if len(l.Skills) > 0 {
		own[envSkills] = s.path("skills")
	}
	if l.Conversation != "" {
		own[envConversation] = l.Conversation
	}
	if l.Model != "" {
		own[envModel] = l.Model
	}
	start.Env, start.Secrets = l.environment(&d.Settings, nil, own).list()
	return start, nil
}

func (d command) missing() error {
	if why := unusable(d.Command[0]); why != "" {
		return &MissingError{
			d.name, d.Command[0], d.Command[0] + " " + why,
			"correct agents." + d.name + ".command in agents.json of the home",
		}
	}
	return nil
}

func (d command) Check(context.Context, []string, Run) []Finding {
	var missing *MissingError
	if errors.As(d.missing(), &missing) {
		return []Finding{{FindingMissing, missing.Why, missing.Path, missing.Fix}}
	}
	return nil
}

// Guarded implements Driver.
func (command) Guarded() bool { return false }

func (command) Explain(int) string { return "" }

func (d command) Reader(Used) Reader {
	if d.Output == "jsonl" {
		return &retryReader{Reader: commandReader{}}
	}
	return textReader{}
}

// textReader reads an output without a form: every line is something that the agent says.
type textReader struct{}

func (textReader) Read(line []byte) []Observation {
	if len(line) == 0 {
		return nil
	}
	return []Observation{Said{clip(string(line), maxText)}}
}

// CommandLine is a line of the output of a configured command with "output": "jsonl". A line that is none is something
// that the agent says, as in a text.
type CommandLine struct {
	// Type is "session" (Conversation, Model), "tool" (ID, Tool, Command or Text), "tool_result" (ID, Failed, Text),
	// "text" (Text), "usage" (Model and the numbers since the last such line), "retry" (Status, Text), or "result" (OK,
	// Text), which is the last line.
	Type         string `json:"type"`
	Conversation string `json:"conversation,omitempty"`
	Model        string `json:"model,omitempty"`
	ID           string `json:"id,omitempty"`
	Tool         string `json:"tool,omitempty"`
	Command      string `json:"command,omitempty"`
	Text         string `json:"text,omitempty"`
	Failed       bool   `json:"failed,omitempty"`
	Turns        int64  `json:"turns,omitempty"`
	Input        int64  `json:"input,omitempty"`
	Cached       int64  `json:"cached,omitempty"`
	Output       int64  `json:"output,omitempty"`
	Reasoning    int64  `json:"reasoning,omitempty"`
	CostMicros   int64  `json:"costMicros,omitempty"`
	Status       int    `json:"status,omitempty"`
	OK           bool   `json:"ok,omitempty"`
}

// commandReader reads lines of the form CommandLine.
type commandReader struct{}

func (r commandReader) Read(line []byte) []Observation {
	var l CommandLine
	if !decode(line, &l) {
		return textReader{}.Read(line)
	}
	l.Text = clip(l.Text, maxText)
	switch l.Type {
	case "session":
		return []Observation{Began{Conversation: l.Conversation, Model: clip(l.Model, maxSummary)}}
	case "tool":
		about := l.Command
		if about == "" {
			about = l.Text
		}
		return []Observation{Called{
			ID:      l.ID,
			Tool:    clip(l.Tool, maxSummary),
			Command: l.Command,
			Summary: clip(about, maxSummary),
			Ran:     true,
		}}
	case "tool_result":
		return []Observation{Returned{ID: l.ID, Failed: l.Failed, Text: l.Text}}
	case "text":
		return []Observation{Said{l.Text}}
	case "usage":
		used := Used{
			Turns:      l.Turns,
			Input:      l.Input,
			Cached:     l.Cached,
			Output:     l.Output,
			Reasoning:  l.Reasoning,
			CostMicros: l.CostMicros,
		}
		total := Used{}
		total.plus(used) // within bounds
		total.Model = clip(l.Model, maxSummary)
		return []Observation{total}
	case "retry":
		return []Observation{Retrying{Status: l.Status, Reason: l.Text}}
	case "result":
		if l.OK {
			return []Observation{Ended{OK: true}}
		}
		return []Observation{Ended{Cause: CauseOther, Reason: l.Text}}
	}
	return textReader{}.Read(line)
}
