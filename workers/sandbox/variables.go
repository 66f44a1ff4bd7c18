package sandbox

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// setting judges that a variable is set.
func (j *judge) setting(name, value string) {
	if strings.HasPrefix(name, "MAESTRO_") {
		j.blocks(RuleMaestro, "%s belongs to Maestro and may not be set or unset. Leave it as it is.", shown(name))
		return
	}
	if text, ok := j.texts[value]; ok && (name == "BASH_ENV" || name == "ENV") {
		j.commandOf(newEnv(j.dirs), text)
	}
	if namesCommand(name) && value != "" && j.verdict == nil && j.naming == 0 {
		j.naming++
		e := newEnv(j.dirs)
		e.params = nil
		j.commandOf(e, value)
		j.naming--
	}
}

// commandOf judges a text that a program runs, with more arguments.
func (j *judge) commandOf(e *env, text string) {
	j.text(e, strings.TrimPrefix(text, "!"), &input{text: unknown, inherited: true})
}

// namesCommand reports whether programs run the value of a variable.
func namesCommand(name string) bool {
	switch name {
	case "PAGER", "MANPAGER", "GIT_PAGER", "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "SUDO_EDITOR",
		"GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS", "BROWSER",
		"GIT_PROXY_COMMAND", "PROMPT_COMMAND", "RSYNC_RSH", "CVS_RSH", "FCEDIT", "LESSEDIT", "LESSOPEN", "LESSCLOSE",
		"SYSTEMD_PAGER", "SYSTEMD_EDITOR", "AWS_PAGER", "GH_PAGER", "GH_EDITOR", "GH_BROWSER", "PSQL_PAGER",
		"PSQL_EDITOR", "KUBE_EDITOR", "RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER", "BAT_PAGER", "DELTA_PAGER",
		"HGEDITOR", "SVN_EDITOR", "SVN_SSH", "CRONTAB_EDITOR", "FZF_DEFAULT_COMMAND", "MAKESHELL",
		"GIT_TEXTDOMAIN_COMMAND", "DIFFPROG", "SSH_SK_HELPER", "COMMAND_NOT_FOUND", "RSYNC_CONNECT_PROG":
		return true
	}
	return false
}

// declaration judges declare, export, local, readonly and typeset.
func (j *judge) declaration(e *env, d *syntax.DeclClause) {
	exports, refers, functions, unexports := d.Variant.Value == "export", d.Variant.Value == "nameref", false, false
	for _, a := range d.Args {
		if a.Name == nil && a.Value != nil {
			j.declared(e, a.Value, &exports, &refers, &functions, &unexports)
			continue
		}
		if a.Name == nil {
			continue
		}
		if a.Naked {
			j.setting(a.Name.Value, "")
			if v := e.vars[a.Name.Value]; v != nil {
				e.vars[a.Name.Value] = v.export(v.exported && !unexports || exports)
			}
			continue
		}
		if refers {
			to := j.literal(e, a.Value)
			j.setting(to, "")
			e.vars[a.Name.Value] = &variable{refersTo: to}
			continue
		}
		j.assign(e, a, exports)
	}
}

// declared judges an argument of declare that is evaluated: options, names or assignments.
func (j *judge) declared(e *env, word *syntax.Word, exports, refers, functions, unexports *bool) {
	for _, text := range j.fields(e, []*syntax.Word{word}) {
		switch {
		case strings.HasPrefix(text, "-"):
			*exports = *exports || strings.Contains(text, "x")
			*refers = *refers || strings.Contains(text, "n") && !*exports
			*unexports = *unexports || strings.Contains(text, "n")
			*functions = *functions || strings.Contains(text, "f")
		case strings.HasPrefix(text, "+"):
			*unexports = *unexports || strings.Contains(text, "x")
		default:
			j.assignText(e, text, *exports)
		}
	}
}

// assignText judges a text of the form name=value or name.
func (j *judge) assignText(e *env, text string, exported bool) {
	name, value, ok := strings.Cut(text, "=")
	name, index, _ := strings.Cut(strings.TrimSuffix(name, "+"), "[")
	if strings.HasPrefix(name, unknown) {
		return
	}
	j.setting(name, value)
	if index != "" {
		e.forget(name)
		return
	}
	if ok && syntax.ValidName(name) {
		e.assign(name, &variable{values: []string{value}, exported: exported})
	}
}
