package sandbox

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Dirs are the directories that a line is judged with; all are absolute.
type Dirs struct {
	// Workspace and Target may be written to, like /tmp.
	Workspace, Target string
	// Cwd is where the line runs: the target if empty.
	Cwd string
	// Home is the value of HOME; unknown if empty.
	Home string
	// MaestroHome may not be read: Home/.maestro if empty.
	MaestroHome string
}

// Rule is the rule that blocks a line.
type Rule string

// The rules.
const (
	RuleSyntax   Rule = "syntax"   // no bash
	RuleFormat   Rule = "format"   // formats, wipes or partitions a disk
	RuleRawDisk  Rule = "raw-disk" // dd if=, and writes to devices
	RulePower    Rule = "power"    // stops or restarts the machine
	RuleOutside  Rule = "outside"  // writes outside the directories
	RuleTmp      Rule = "tmp"      // removes or changes /tmp itself
	RuleLink     Rule = "link"     // a link that leads outside
	RuleMaestro  Rule = "maestro"  // reads Maestro's home, or changes its variables
	RuleDeferred Rule = "deferred" // a schedule that cannot be judged
	RuleUnknown  Rule = "unknown"  // cannot be evaluated
)

// Verdict says whether a line may run.
type Verdict struct {
	Allowed bool
	// Rule and Reason say why not: what was blocked, and what to do instead.
	Rule   Rule
	Reason string
}

// judge is one judgement.
type judge struct {
	dirs                Dirs
	parser              *syntax.Parser
	steps, depth, bytes int
	verdict             *Verdict
	// pending are functions that cannot be judged without their arguments, until they are called.
	pending map[string]*Verdict
	// texts are what the line writes to files and descriptors, by absolute path.
	texts map[string]string
	// descriptors counts the process substitutions.
	descriptors int
	// elsewhere is not 0 while a command is judged that runs in a container, whose paths are not ours.
	elsewhere int
	// calls is how many functions are running.
	calls int
	// naming is not 0 while the value of a variable that names a command is judged.
	naming int
	// coding is how deep code is in code.
	coding int
}

// Judge decides whether a line may run. It always ends, whatever the line is.
func Judge(dirs Dirs, line string) Verdict {
	dirs = dirs.whole()
	j := &judge{dirs: dirs, pending: map[string]*Verdict{}, texts: map[string]string{}}
	if !utf8.ValidString(line) {
		j.blocks(RuleSyntax, "The command line is not UTF-8. Write it in UTF-8.") // its bytes could be marks
	}
	j.text(newEnv(dirs), line, &input{text: unknown, inherited: true})
	if names := slices.Sorted(maps.Keys(j.pending)); j.verdict == nil && len(names) > 0 {
		j.verdict = j.pending[names[0]] // the same each time
	}
	if j.verdict == nil {
		return Verdict{Allowed: true}
	}
	return *j.verdict
}

func (d Dirs) whole() Dirs {
	for _, dir := range []*string{&d.Workspace, &d.Target, &d.Cwd, &d.Home, &d.MaestroHome} {
		if *dir != "" {
			*dir = path.Clean(*dir)
		}
	}
	if d.Cwd == "" {
		d.Cwd = d.Target
	}
	if d.MaestroHome == "" && d.Home != "" {
		d.MaestroHome = path.Join(d.Home, ".maestro")
	}
	return d
}

// blocks records the first reason to block the line.
func (j *judge) blocks(rule Rule, format string, args ...any) {
	if j.verdict == nil {
		j.verdict = &Verdict{Rule: rule, Reason: fmt.Sprintf(format, args...)}
	}
}

// text judges a text that a shell runs, and returns what it prints.
func (j *judge) text(e *env, text string, in *input) string {
	if vague(text) {
		j.blocks(RuleUnknown, "A shell would run text that cannot be evaluated: %q. Write the command out, "+
			"or save it to a file and read that first.", shown(text))
		return unknown
	}
	if !j.enter() {
		return unknown
	}
	defer j.leave()
	file, err := j.parse(plain(text))
	if err != nil {
		j.blocks(RuleSyntax, "This is not a complete bash command line: %s. Correct the syntax.", shown(err.Error()))
		return unknown
	}
	return j.statements(e, file.Stmts, in)
}

func (j *judge) parse(text string) (*syntax.File, error) {
	if len(text) > maxLine {
		return nil, errNested
	}
	if !j.spendParsed(len(text)) {
		return nil, errNested
	}
	if j.parser == nil {
		j.parser = syntax.NewParser(syntax.Variant(syntax.LangBash))
	}
	return j.parser.Parse(shallow{strings.NewReader(text)}, "")
}
