package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"maestro/internal/syntax"
)

// HookCall is a tool call that a CLI asks its hook about.
type HookCall struct {
	Agent string
	// After: the call is over, and the hook can only add mail. Gemini asks twice.
	After bool
	Tool  string
	Kind  Kind
	// Command is the command line of a shell tool, otherwise "".
	Command string
	// Paths are the files that the call reads or changes, as the agent named them: relative to Cwd, or absolute. They
	// are empty if the tool names none.
	Paths []string
	// CallID is the CLI's id of the call; Gemini has none.
	CallID string
	// Key is that of the call in the output ([Called].Key).
	Key   string
	Cwd   string
	Input json.RawMessage // the tool's arguments
	// Subagent is the agent that the agent started and that makes the call, "" for the agent itself. Gemini does not
	// say so: between a call of KindSubagent and its After, calls are those of a subagent.
	Subagent string
}

// Kind is what a tool does.
type Kind string

// The kinds of tools. A tool that this package does not know is KindOther: it may do anything.
const (
	KindShell    Kind = "shell"
	KindEdit     Kind = "edit"     // changes files
	KindRead     Kind = "read"     // reads files
	KindWeb      Kind = "web"      // reads from the web
	KindSubagent Kind = "subagent" // starts or continues another agent, whose calls the hook sees as well
	KindNotes    Kind = "notes"    // changes only what the agent itself keeps: plans, lists, questions
	KindOther    Kind = "other"
)

// payload is what the CLIs send to their hook.
type payload struct {
	Event     string          `json:"hook_event_name"`
	Tool      string          `json:"tool_name"`
	Input     json.RawMessage `json:"tool_input"`
	CallID    string          `json:"tool_use_id"`
	TurnID    string          `json:"turn_id"`
	Cwd       string          `json:"cwd"`
	AgentID   string          `json:"agent_id"`
	AgentType string          `json:"agent_type"`
}

// arguments are those of the known tools that say what a call is about.
type arguments struct {
	Command      string `json:"command"`
	FilePath     string `json:"file_path"`
	NotebookPath string `json:"notebook_path"`
	Path         string `json:"path"`
	DirPath      string `json:"dir_path"`
	URL          string `json:"url"`
	Query        string `json:"query"`
	Pattern      string `json:"pattern"`
	Prompt       string `json:"prompt"`
}

// ParseHook reads what a CLI sends to its hook. An error means that the call cannot be judged, and has to be denied.
func ParseHook(content []byte) (HookCall, error) {
	var p payload
	if err := json.Unmarshal(content, &p); err != nil {
		return HookCall{}, fmt.Errorf("the hook's input cannot be read: %w", syntax.Plain(err))
	}
	call := HookCall{
		Tool:     p.Tool,
		CallID:   p.CallID,
		Cwd:      p.Cwd,
		Input:    p.Input,
		Subagent: p.AgentType,
	}
	if call.Subagent == "" {
		call.Subagent = p.AgentID
	}
	switch {
	case p.Event == "PreToolUse" && p.TurnID != "":
		call.Agent = Codex
	case p.Event == "PreToolUse":
		call.Agent = Claude
	case p.Event == "BeforeTool", p.Event == "AfterTool":
		call.Agent, call.After = Gemini, p.Event == "AfterTool"
	default:
		return HookCall{}, errors.New("the hook's input names no known event")
	}
	if call.Tool == "" {
		return HookCall{}, errors.New("the hook's input names no tool")
	}
	call.Kind = kinds[call.Agent][strings.TrimPrefix(call.Tool, codexGroup)]
	if call.Kind == "" {
		call.Kind = KindOther
	}
	var args arguments
	_ = json.Unmarshal(call.Input, &args) // a member of another type stays empty
	if call.Kind == KindShell {
		if call.Command = args.Command; call.Command == "" {
			return HookCall{}, errors.New("the hook's input names no command")
		}
	}
	call.Paths = args.paths(call.Tool)
	call.Key = keyOf(call.Agent, call.Tool, call.CallID, call.Command)
	return call, nil
}

// codexGroup begins the names of the tools with which Codex starts other agents.
const codexGroup = "collaboration"

// kinds are the known tools of each agent.
var kinds = map[string]map[string]Kind{
	Claude: {
		"Bash": KindShell,
		"Edit": KindEdit, "MultiEdit": KindEdit, "Write": KindEdit, "NotebookEdit": KindEdit,
		"Read": KindRead, "Glob": KindRead, "Grep": KindRead, "LS": KindRead, "NotebookRead": KindRead,
		"WebFetch": KindWeb, "WebSearch": KindWeb,
		"Task": KindSubagent, "Agent": KindSubagent, "SendMessage": KindSubagent,
		"TodoWrite": KindNotes, "TaskCreate": KindNotes, "TaskGet": KindNotes, "TaskList": KindNotes,
		"TaskUpdate": KindNotes, "TaskOutput": KindNotes, "BashOutput": KindNotes, "ExitPlanMode": KindNotes,
		"ReportFindings": KindNotes, "Skill": KindNotes, "ToolSearch": KindNotes, "AskUserQuestion": KindNotes,
		"KillShell": KindNotes, "TaskStop": KindNotes, "EnterPlanMode": KindNotes,
	},
	Codex: {
		"Bash": KindShell, "apply_patch": KindEdit, "view_image": KindRead, "update_plan": KindNotes,
		"spawn_agent": KindSubagent, "followup_task": KindSubagent, "send_message": KindSubagent,
		"interrupt_agent": KindNotes, "list_agents": KindNotes, "wait_agent": KindNotes,
	},
	Gemini: {
		"run_shell_command": KindShell,
		"write_file":        KindEdit, "replace": KindEdit,
		"read_file": KindRead, "read_many_files": KindRead, "list_directory": KindRead, "glob": KindRead,
		"grep_search": KindRead, "search_file_content": KindRead,
		"web_fetch": KindWeb, "google_web_search": KindWeb,
		"invoke_agent": KindSubagent, "codebase_investigator": KindSubagent, "cli_help": KindSubagent,
		"write_todos": KindNotes, "activate_skill": KindNotes, "update_topic": KindNotes,
	},
}

// paths returns the files that a call names.
func (a *arguments) paths(tool string) (paths []string) {
	if tool == "apply_patch" {
		return patched(a.Command)
	}
	for _, path := range []string{a.FilePath, a.NotebookPath, a.Path, a.DirPath} {
		if path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// patched returns the files that a patch of Codex changes.
func patched(patch string) (paths []string) {
	for line := range strings.Lines(patch) {
		for _, begin := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if path, ok := strings.CutPrefix(strings.TrimSpace(line), begin); ok {
				paths = append(paths, strings.TrimSpace(path))
			}
		}
	}
	return paths
}

// keyOf returns what a call's payload and its line in the output have in common. Claude prints the id of a call. Codex
// prints another id, but the command; Gemini prints an id that its payload lacks.
func keyOf(agent, tool, id, command string) string {
	if agent == Claude {
		return id
	}
	if command == "" || tool == "apply_patch" {
		return tool
	}
	sum := sha256.Sum256([]byte(command))
	return tool + ":" + hex.EncodeToString(sum[:12])
}

// ExitDenied is the exit code with which a hook denies a call, for every CLI.
const ExitDenied = 2

// Answer is what a hook prints, and its exit code.
type Answer struct {
	Stdout, Stderr string
	ExitCode       int
}

// Denied returns the answer that denies a call, in words for the agent: what is not allowed, and what to do instead.
// All CLIs understand it. It works for a payload that could not be read, too.
func (c HookCall) Denied(reason string) Answer {
	if strings.TrimSpace(reason) == "" {
		reason = denial // without a text, Codex and Gemini would let the call run
	}
	return Answer{Stderr: reason + "\n", ExitCode: ExitDenied}
}

// Allowed returns the answer that allows a call, with mail for the agent. delivered is false if the agent does not get
// the mail with this answer: Gemini gets it after the call, and a subagent never does.
func (c HookCall) Allowed(mail string) (answer Answer, delivered bool) {
	event := "PreToolUse"
	switch {
	case mail == "" || c.Subagent != "":
		return Answer{}, false
	case c.Agent == Gemini && !c.After:
		return Answer{}, false
	case c.Agent == Gemini:
		event = "AfterTool"
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(map[string]any{"hookSpecificOutput": map[string]string{
		"hookEventName": event, "additionalContext": mail,
	}})
	if err != nil { // texts can always be encoded
		return Answer{}, false
	}
	return Answer{Stdout: out.String()}, true
}
