package mockmodel

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Step is what the model does next: it calls a tool, or ends its turn with a text if Tool is "".
type Step struct {
	Tool      string
	Arguments any
	Text      string
}

// shell stands for the shell tool of each agent.
const shell = "shell"

// Shell returns the step that runs a command line in the agent's own shell tool.
func Shell(command string) Step { return Step{Tool: shell, Arguments: command} }

// as returns the call of an agent's shell tool, if the step is Shell.
func (s Step) as(tool, argument string) Step {
	if s.Tool != shell {
		return s
	}
	return Step{Tool: tool, Arguments: object{argument: s.Arguments, "description": "a step of the script"}}
}

// Result is what a tool answered.
type Result struct {
	Text   string
	Failed bool // as far as the API says so: OpenAI's does not
}

// Script returns the next step, given the tools that the agent offers and the results of all steps before.
type Script func(tools []string, results []Result) Step

// Tokens that every answer is said to use; the cached ones are part of the input.
const (
	InputTokens  = 100
	CachedTokens = 40
	OutputTokens = 10
)

type object = map[string]any

// asked reads a request. If it cannot, it answers, and returns false.
func asked(w http.ResponseWriter, r *http.Request, into any) bool {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

func reply(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // an agent that is gone needs no answer
}

// stream answers with server-sent events. An event without a type has no name.
func stream(w http.ResponseWriter, events ...object) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range events {
		text, err := json.Marshal(event)
		if err != nil {
			return
		}
		if kind, ok := event["type"]; ok {
			_, _ = fmt.Fprintf(w, "event: %s\n", kind)
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", text)
	}
}
