package prompt

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"maestro/commands"
	"maestro/internal/lazyregexp"
)

// Templates returns workflows by id. Built-in ones are named by mode and strategy, such as "execute-simple".
type Templates interface {
	// Template returns the text of a template, in the form of CheckTemplate; false if there is none.
	Template(id string) (text string, ok bool)
}

//go:embed templates/*.txt
var builtIn embed.FS

// BuiltIn returns the built-in workflows: one for each strategy of each mode.
func BuiltIn() Templates { return files{} }

type files struct{}

// Template implements Templates.
func (files) Template(id string) (string, bool) {
	if id == instruction || !templateID().MatchString(id) {
		return "", false
	}
	text, err := builtIn.ReadFile("templates/" + id + ".txt")
	return string(text), err == nil
}

var templateID = lazyregexp.New(`^[a-z-]+$`)

// instruction is the only text that is not a workflow: it applies to every session of a mode.
const instruction = "instruction"

// phases are the phases of a workflow, in order.
var phases = []string{"analyze", "plan", "execute_or_delegate", "report", "complete"}

// CheckTemplate returns what is wrong with the text of a workflow, or nil.
//
// It has a line "[analyze]" for each phase of docs/spec/002-prompt-contract.md, "Workflow Matrix", in their order,
// and below it steps. A step begins with "- " and continues on lines that begin with two spaces; lines that begin with
// "#" are for people. In a step
//
//	{{task:get TASK_ID}}  is the line of a command, with these arguments
//	{{queue}}             is a value: session, project, project-name, queue or task (the primary one's id)
//	[[…]]                 is a part that may be left out
//
// A step or part whose command the session may not use, or whose value is not known, is left out. It may begin with
// conditions: ?task:get or !task:get, for a session that may or may not use a command, and ?@several or !@several, for
// one that has several tasks; likewise @tasks, @children, @queue, @skills, @predecessor, @read-only and @interactive.
// Each phase has a step that is never left out, and commands are named in slots only: a session is not told what it may
// not do.
func CheckTemplate(text string) error {
	_, err := parseTemplate(text, phases)
	return err
}

// template is a parsed text: the steps below each heading.
type template map[string][]step

// step is omitted if one of its conditions does not hold, or a required part of it cannot be written.
type step struct {
	conditions []condition
	parts      []part
}

// part is a portion of a step that is written or omitted as a whole.
type part struct {
	optional   bool
	conditions []condition
	pieces     []piece
}

// condition is a command id or a fact that must hold, or must not.
type condition struct {
	name string
	not  bool
}

// piece is literal text, a value by its name, or a command by its id.
type piece struct {
	words, value, id, arguments string
}

// values and facts are what a template may use of a session.
var (
	values = []string{"session", "project", "project-name", "queue", "task"}
	facts  = []string{
		"@several", "@tasks", "@children", "@queue", "@skills", "@predecessor", "@read-only",
		"@interactive",
	}
)

func parseTemplate(text string, headings []string) (template, error) {
	t := template{}
	var heading string
	var steps [][]string // the lines of each
	var starts []int
	flush := func() error {
		for i, lines := range steps {
			s, err := parseStep(strings.Join(lines, " "))
			if err != nil {
				return fmt.Errorf("line %d: %w", starts[i], err)
			}
			t[heading] = append(t[heading], s)
		}
		steps, starts = nil, nil
		return nil
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, " \t\r\n")
		switch {
		case line == "", strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			if err := flush(); err != nil {
				return nil, err
			}
			heading = strings.Trim(line, "[]")
			if len(t) >= len(headings) || headings[len(t)] != heading {
				return nil, fmt.Errorf("line %d: %s stands here; the headings are, in this order, %s", n, oneLine(line),
					strings.Join(headings, ", "))
			}
			t[heading] = nil
		case heading == "":
			return nil, fmt.Errorf("line %d: there is no heading above it", n)
		case strings.HasPrefix(line, "- "):
			steps, starts = append(steps, []string{line[2:]}), append(starts, n)
		case strings.HasPrefix(line, "  ") && len(steps) > 0:
			last := len(steps) - 1
			steps[last] = append(steps[last], strings.TrimSpace(line))
		default:
			return nil, fmt.Errorf("line %d: it begins neither a step (\"- \") nor goes on with one (two spaces)", n)
		}
	}
	if err := flush(); err != nil {
		return nil, err
	}
	for _, heading := range headings {
		if _, ok := t[heading]; !ok {
			return nil, fmt.Errorf("there is no [%s]", heading)
		}
		if !slices.ContainsFunc(t[heading], step.always) {
			return nil, fmt.Errorf("[%s] has no step that is never left out", heading)
		}
	}
	return t, nil
}

// always reports whether a step is never omitted.
func (s step) always() bool {
	return len(s.conditions) == 0 && !slices.ContainsFunc(s.parts, func(p part) bool {
		return !p.optional && slices.ContainsFunc(p.pieces, func(p piece) bool { return p.id != "" || p.value != "" })
	})
}

func parseStep(text string) (s step, err error) {
	if s.conditions, text, err = parseConditions(text); err != nil {
		return s, err
	}
	for text != "" {
		before, rest, opened := strings.Cut(text, "[[")
		must, err := parsePart(before, false)
		if err != nil {
			return s, err
		}
		s.parts = append(s.parts, must)
		if !opened {
			break
		}
		inner, after, closed := strings.Cut(rest, "]]")
		if !closed {
			return s, fmt.Errorf("%q has no ]]", "[["+rest)
		}
		may, err := parsePart(inner, true)
		if err != nil {
			return s, err
		}
		s.parts, text = append(s.parts, may), after
	}
	return s, nil
}

// parseConditions parses the conditions at the start of a text.
func parseConditions(text string) (conditions []condition, rest string, err error) {
	for strings.HasPrefix(text, "?") || strings.HasPrefix(text, "!") {
		word, after, _ := strings.Cut(text, " ")
		c := condition{name: word[1:], not: word[0] == '!'}
		if strings.HasPrefix(c.name, "@") && !slices.Contains(facts, c.name) {
			return nil, "", fmt.Errorf("%q is unknown; there are %s", c.name, strings.Join(facts, ", "))
		}
		if !strings.HasPrefix(c.name, "@") && !isCommand(c.name) {
			return nil, "", fmt.Errorf("%q is no command id", c.name)
		}
		conditions, text = append(conditions, c), strings.TrimLeft(after, " ")
	}
	return conditions, text, nil
}

// isCommand reports whether the permission table has a command.
func isCommand(id string) bool {
	_, ok := commands.CurrentRules().Row(id)
	return ok
}

// spelled finds a command that is named in literal text.
var spelled = lazyregexp.New(`\bmaestro\s+([a-z]|$)`)

func parsePart(text string, optional bool) (p part, err error) {
	p.optional = optional
	if optional {
		bare := strings.TrimLeft(text, " ")
		space := text[:len(text)-len(bare)]
		if p.conditions, bare, err = parseConditions(bare); err != nil {
			return p, err
		}
		text = space + bare
	}
	for text != "" {
		before, rest, opened := strings.Cut(text, "{{")
		if spelled().MatchString(before) {
			return p, fmt.Errorf("%q names a command in words; write it as a slot, such as {{task:get TASK_ID}}",
				before)
		}
		if stray := strings.IndexAny(before, "{}"); stray >= 0 || strings.Contains(before, "]]") {
			return p, fmt.Errorf("%q has a bracket that opens or closes nothing", before)
		}
		if before != "" {
			p.pieces = append(p.pieces, piece{words: before})
		}
		if !opened {
			break
		}
		slot, after, closed := strings.Cut(rest, "}}")
		id, arguments, _ := strings.Cut(strings.TrimSpace(slot), " ")
		_, _, known := Syntax(id)
		switch {
		case !closed:
			return p, fmt.Errorf("%q has no }}", "{{"+rest)
		case slices.Contains(values, id) && arguments == "":
			p.pieces = append(p.pieces, piece{value: id})
		case known:
			p.pieces = append(p.pieces, piece{id: id, arguments: strings.TrimSpace(arguments)})
		default:
			return p, fmt.Errorf("there is no slot %q: it is neither a command id nor one of %s", id,
				strings.Join(values, ", "))
		}
		text = after
	}
	return p, nil
}

// asked holds the values and facts of a session.
type asked struct {
	axes
	values map[string]string
	facts  map[string]bool
}

func (q asked) holds(conditions []condition) bool {
	for _, c := range conditions {
		if holds := q.facts[c.name] || q.may(c.name); holds == c.not {
			return false
		}
	}
	return true
}

// write returns a part's text; false if it has to be omitted.
func (q asked) write(p part) (string, bool) {
	if !q.holds(p.conditions) {
		return "", false
	}
	var b strings.Builder
	for _, piece := range p.pieces {
		switch {
		case piece.value != "":
			value := oneLine(q.values[piece.value])
			if value == "" {
				return "", false
			}
			b.WriteString(value)
		case piece.id != "":
			if !q.may(piece.id) {
				return "", false
			}
			b.WriteString("`" + strings.TrimRight("maestro "+strings.ReplaceAll(piece.id, ":", " ")+" "+piece.arguments,
				" ") + "`")
		default:
			b.WriteString(piece.words)
		}
	}
	return b.String(), true
}

// lines returns the steps of a heading that apply to this session.
func (q asked) lines(steps []step) []string {
	var lines []string
	for _, s := range steps {
		if !q.holds(s.conditions) {
			continue
		}
		var b strings.Builder
		left := false
		for _, p := range s.parts {
			words, ok := q.write(p)
			b.WriteString(words)
			left = left || !ok && !p.optional
		}
		// Of a step whose parts may all be left out, nothing may remain.
		if line := strings.TrimSpace(b.String()); !left && line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
