package sandbox_test

import (
	"strings"
	"testing"

	"maestro/workers/sandbox"
)

// surroundings are constructs that do not change what a line does. Those in which it is a text cannot hold every line.
var surroundings = map[string]func(string) string{
	"subshell": func(s string) string { return "(\n" + s + "\n)" },
	"block":    func(s string) string { return "{\n" + s + "\n}" },
	"if":       func(s string) string { return "if true; then\n" + s + "\nfi" },
	"else":     func(s string) string { return "if x; then :; else\n" + s + "\nfi" },
	"while":    func(s string) string { return "while true; do\n" + s + "\ndone" },
	"for":      func(s string) string { return "for __i in 1; do\n" + s + "\ndone" },
	"case":     func(s string) string { return "case x in x)\n" + s + "\n;; esac" },
	"output":   func(s string) string { return "echo $(\n" + s + "\n)" },
	"quoted":   func(s string) string { return "echo \"$(\n" + s + "\n)\"" },
	"process":  func(s string) string { return "cat <(\n" + s + "\n)" },
	"function": func(s string) string { return "__f() {\n" + s + "\n}" },
	"called":   func(s string) string { return "__f() {\n" + s + "\n}; __f" },
	"pipeline": func(s string) string { return "{\n" + s + "\n} | cat" },
	"piped":    func(s string) string { return "ls | {\n" + s + "\n}" },
	"and":      func(s string) string { return "true && {\n" + s + "\n}" },
	"not":      func(s string) string { return "! {\n" + s + "\n}" },
	"waiting":  func(s string) string { return "{\n" + s + "\n} &" },
	"shell":    func(s string) string { return "sh -c " + quote(s) },
	"sudo":     func(s string) string { return "sudo -n bash -ec " + quote(s) },
	"eval":     func(s string) string { return "eval " + quote(s) },
	"trap":     func(s string) string { return "trap " + quote(s) + " EXIT" },
	"fed":      func(s string) string { return "bash <<'__END'\n" + s + "\n__END\n" },
	"printed":  func(s string) string { return "printf '%s\\n' " + quote(s) + " | sh" },
	"variable": func(s string) string { return "__x=" + quote(s) + "; eval \"$__x\"" },
	"env":      func(s string) string { return "env __A=1 nice timeout 5 bash -c " + quote(s) },
	"after":    func(s string) string { return "exit 0\n" + s },
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// A line that is blocked is blocked in every construct.
func TestBlockedLinesAreBlockedInside(t *testing.T) {
	lines := 0
	check := func(line string) {
		v := sandbox.Judge(dirs, line)
		// in a shell of its own, or a function, a line has no parameters, and what is unknown of them is known
		parameters := v.Rule == sandbox.RuleUnknown && strings.ContainsAny(line, "@#1")
		if v.Allowed || parameters || strings.Contains(line, "<<") || strings.Contains(line, "esac") && len(line) < 14 {
			return
		}
		lines++
		for name, around := range surroundings {
			if sandbox.Judge(dirs, around(line)).Allowed {
				t.Errorf("%s: %q is blocked, but not %q", name, line, around(line))
			}
		}
	}
	for _, x := range corpus(t) {
		if x.Class != "unparseable" {
			check(filled(x.Cmd))
		}
	}
	for _, x := range siblings(t) {
		if x.Expect == "block" && x.About != "syntax" {
			check(filled(x.Cmd))
		}
	}
	if lines < 500 {
		t.Errorf("only %d lines", lines)
	}
}

// A line that is allowed is allowed in a subshell, and in a text for a shell that has no other variables.
func TestAllowedLinesAreAllowedInside(t *testing.T) {
	check := func(line string) {
		if !sandbox.Judge(dirs, line).Allowed || strings.Contains(line, "<<") {
			return
		}
		for _, name := range []string{
			"subshell", "block", "if", "else", "case", "pipeline", "and", "not", "waiting",
			"after",
		} {
			if v := sandbox.Judge(dirs, surroundings[name](line)); !v.Allowed {
				t.Errorf("%s: %q is allowed, but not inside: %s", name, line, v.Reason)
			}
		}
	}
	for _, x := range corpus(t) {
		check(filled(x.Cmd))
	}
	for _, x := range siblings(t) {
		if x.Expect == "allow" && strings.TrimSpace(x.Cmd) != "" && !strings.HasPrefix(x.Cmd, "#") {
			check(filled(x.Cmd))
		}
	}
}

// The reference directories are only an example.
func TestOtherDirectories(t *testing.T) {
	other := sandbox.Dirs{
		Workspace: "/var/lib/maestro/ws/7",
		Target:    "/srv/code/shop",
		Home:      "/root",
	}
	fill := strings.NewReplacer("{workspace}", other.Workspace, "{target}", other.Target)
	for _, x := range corpus(t) {
		if v := sandbox.Judge(other, fill.Replace(x.Cmd)); v.Allowed != (x.Expect == "allow") {
			t.Errorf("%q: %+v", x.Cmd, v)
		}
	}
}

// hostile are lines that would take too long, or too much memory or stack.
func hostile() []string {
	deep := func(open, closing string, n int) string {
		return strings.Repeat(open, n) + "ls" + strings.Repeat(closing, n)
	}
	lines := []string{
		"echo {1..1000000000}", "echo {1..99999}{1..99999}", "echo " + strings.Repeat("{a,b}", 40),
		"x=aaaaaaaaaaaaaaaa; while true; do x=$x$x; done", "x=a; " + strings.Repeat("x=$x$x;", 60),
		"f() { f; f; }; f", ":(){ :|:& };:", "f() { g; }; g() { f; }; f", "for ((;;)); do x+=y; done",
		"alias a=b b=a; a", "x='eval $x'; eval $x", "while read x; do echo $x; done < <(yes)", "seq 1 999999999",
		"printf '%999999999s' x", "x=a; x=${x//a/" + strings.Repeat("a", 1000) + "}; x=${x//a/" + strings.Repeat("a",
			1000) + "}; echo ${x//a/$x}",
		strings.Repeat("ls && ", 50_000) + "ls", strings.Repeat("ls | ", 50_000) + "ls", strings.Repeat("ls; ", 50_000),
		strings.Repeat("if ls; then ", 20_000) + strings.Repeat("fi; ", 20_000), strings.Repeat("! ", 100_000) + "ls",
		"echo $((" + strings.Repeat("-", 100_000) + "1))", "echo $((" + strings.Repeat("a=", 100_000) + "1))",
		"echo $((1 << 99999999 ** 99999999))", "x=" + strings.Repeat("a", 2_000_000),
		"echo ${x/" + strings.Repeat("*a", 5000) + "/b}",
		"x=" + strings.Repeat("a", 20_000) + "; echo ${x/" + strings.Repeat("*a",
			2000) + "b/c} ${x##" + strings.Repeat("*a", 2000) + "b}",
		"a=(" + strings.Repeat("x ", 50_000) + "); for i in ${a[@]}; do for j in ${a[@]}; do ls $i $j; done; done",
		"declare -n a=b b=a; echo $a; a=1", strings.Repeat("time ", 50_000) + "ls", strings.Repeat("function f ",
			10_000),
		"case x in " + strings.Repeat("x) D=$D$D/a;; ", 3_000) + "esac", strings.Repeat("sudo ", 20_000) + "ls",
		"eval " + strings.Repeat("eval ", 20_000) + "ls", "cat " + strings.Repeat("<<E ",
			5_000) + "\n" + strings.Repeat("E\n", 5_000),
		"echo a{" + strings.Repeat("{a,", 10_000), "trap 'trap \"$x\" EXIT' EXIT", "\x00", "\xff\xfe",
		"echo ho" + strings.Repeat("\xae", 3000),
		strings.Repeat("\xfd", 3000), "echo " + strings.Repeat("\uFFFD", 3000),
		"echo " + strings.Repeat("é", 3000), "echo x" + strings.Repeat("€", 3000),
		"eval $'" + strings.Repeat("\\xae", 2000) + "'",
		"echo $'\\xff\\u0000\\U7fffffff'",
		"sed '" + strings.Repeat("{", 100_000) + "'", "python3 -c '" + strings.Repeat("\"a\"+",
			50_000) + "\"b\"; system'",
		"python3 -c '" + strings.Repeat("eval(\"", 1000) + "'", "xargs -I{} {} <<< ls",
		"find . " + strings.Repeat("-exec ls {} + ", 5_000),
		"f() { local a=$1; f $a$a; }; f x", "x=1; while x; do x=$((x * 2)); y=$y$x; done",
		"tr a-z '" + strings.Repeat("[:alpha:]", 10_000) + "' <<< x",
		"for a in 1 2 3 4 5 6 7 8 9; do for b in 1 2 3 4 5 6 7 8 9; do for c in 1 2 3 4 5 6 7 8 9; do for d in 1 " +
			"2 3 4 5 6 7 8 9; do ls; done; done; done; done",
	}
	for _, pair := range [][2]string{
		{"(", ")"},
		{"$(", ")"},
		{"{ ", ";}"},
		{"${a:-", "}"},
		{"`", "`"},
		{"$((", "))"},
		{"\"$(", ")\""},
		{"<(", ")"},
		{"{a,", "}"},
		{"[[ ( ", " ) ]]"},
		{"if ", ""},
		{"while ", ""},
		{"for x in y; do ", "; done"},
		{"((", "))"},
		{"${a[", "]}"},
		{"f() ", ""},
		{"case x in x) ", " ;; esac"},
		{"eval '", "'"},
		{"\\", ""},
		{"$[", "]"},
		{"@(", ")"},
	} {
		for _, n := range []int{100, 3_000, 100_000} {
			lines = append(lines, deep(pair[0], pair[1], n), "echo "+deep(pair[0], pair[1], n))
		}
	}
	return lines
}

func TestHostileLinesEnd(t *testing.T) {
	for _, line := range hostile() {
		verdict := sandbox.Judge(dirs, line)
		if !verdict.Allowed && verdict.Reason == "" {
			t.Errorf("%.60q: no reason", line)
		}
	}
}

func FuzzJudge(f *testing.F) {
	for _, x := range corpus(f) {
		f.Add(filled(x.Cmd))
	}
	for _, x := range siblings(f) {
		f.Add(filled(x.Cmd))
	}
	f.Fuzz(func(t *testing.T, line string) {
		verdict := sandbox.Judge(dirs, line)
		if verdict.Allowed == (verdict.Reason != "") {
			t.Fatalf("%q: %+v", line, verdict)
		}
		if !verdict.Allowed && verdict.Rule != sandbox.RuleSyntax && !strings.Contains(line, "__") && len(line) < 2000 {
			// a subshell hides nothing
			if inside := sandbox.Judge(dirs, "(\n"+line+"\n)"); inside.Allowed && !strings.ContainsAny(line, "#\\<") {
				t.Fatalf("%q is blocked, but not in a subshell", line)
			}
		}
	})
}
