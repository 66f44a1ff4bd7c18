package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"maestro/internal/failure"
	"maestro/workers/sandbox"
)

func newSandbox(a *Run) *cobra.Command {
	return a.group("sandbox", "The rules for the command lines that agents run", newSandboxCheck(a))
}

// sandboxCheck is `maestro sandbox check`.
type sandboxCheck struct {
	*Run
	dirs  sandbox.Dirs
	batch bool
}

func newSandboxCheck(a *Run) *cobra.Command {
	c := &sandboxCheck{Run: a}
	cmd := &cobra.Command{
		Use:   "check [<command-line>]",
		Short: "Say whether an agent may run a bash command line, without running it",
		Long: `Say whether an agent may run a bash command line, without running it. The exit
code is 0 if it may, and 4 if not. A line may write only to the workspace, the
target and /tmp, and may not format disks or stop the machine.

With --batch, stdin has one {"id","cmd"} object per line. For each, in order,
one {"id","verdict","reason"} object is printed at once. The exit code is then
0, or 2 if a line is no such object.`,
		Args: Takes,
		RunE: Running(c.run),
	}
	flags := cmd.Flags()
	flags.StringVar(&c.dirs.Workspace, "workspace", "", "the session's workspace")
	flags.StringVar(&c.dirs.Target, "target", "", "the directory that the session works on")
	flags.StringVar(&c.dirs.Cwd, "cwd", "", "where the line runs; else the target")
	flags.StringVar(&c.dirs.Home, "home", "", "the agent's home directory; else HOME")
	flags.BoolVar(&c.batch, "batch", false, "judge the lines that stdin has")
	for _, name := range []string{"workspace", "target", "cwd"} {
		ValueName(cmd, name, "<dir>")
	}
	return cmd
}

// sandboxVerdict is the answer for one command line.
type sandboxVerdict struct {
	ID      string `json:"id,omitempty"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason"`
}

func (c *sandboxCheck) run(ctx context.Context, args []string) error {
	if err := c.complete(); err != nil {
		return err
	}
	switch {
	case c.batch && len(args) > 0:
		return failure.Usage("--batch reads the command lines from stdin").WithNext("leave the command line out")
	case c.batch:
		return c.judgeAll(ctx)
	case len(args) == 0:
		return failure.Usage("`maestro sandbox check` needs a command line").
			WithNext("put it in quotes, or use --batch")
	}
	verdict := c.judge("", args[0])
	c.Result(verdict, func() {
		c.Print("%s\n%s", map[bool]string{true: "allowed", false: "blocked"}[verdict.Verdict == "allow"],
			reasonLine("why", verdict.Reason))
	})
	if verdict.Verdict == "allow" {
		return nil
	}
	return &failure.Error{
		Code:    failure.NotAllowed,
		Message: "The command line is blocked",
		Why:     verdict.Reason,
		Shown:   true,
	}
}

// complete checks the directories, and takes from the environment what is missing.
func (c *sandboxCheck) complete() error {
	if c.dirs.Home == "" {
		c.dirs.Home = c.Getenv("HOME")
	}
	for _, dir := range []struct {
		flag, path string
		needed     bool
	}{
		{"workspace", c.dirs.Workspace, true},
		{"target", c.dirs.Target, true},
		{"cwd", c.dirs.Cwd, false},
		{"home", c.dirs.Home, false},
	} {
		switch {
		case dir.path == "" && dir.needed:
			return failure.Usage("--%s is missing", dir.flag).WithNext("name the directory")
		case dir.path != "" && !filepath.IsAbs(dir.path):
			return failure.Usage("--%s is not an absolute path: %s", dir.flag, dir.path).WithNext("begin it with /")
		case dir.path != "" && filepath.Clean(dir.path) == "/" && dir.needed:
			return failure.Usage("--%s is the root directory, which would allow everything", dir.flag).
				WithNext("name the directory that the session works in")
		}
	}
	return nil
}

func (c *sandboxCheck) judge(id, line string) sandboxVerdict {
	verdict := sandbox.Judge(c.dirs, line)
	if verdict.Allowed {
		return sandboxVerdict{ID: id, Verdict: "allow"}
	}
	return sandboxVerdict{ID: id, Verdict: "block", Reason: verdict.Reason}
}

// judgeAll judges the lines of stdin one by one, and answers each before it reads the next.
func (c *sandboxCheck) judgeAll(ctx context.Context) error {
	in := bufio.NewReader(c.Stdin)
	c.answered = true
	for n := 1; ctx.Err() == nil; n++ {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("stdin cannot be read: %w", err)
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			var asked struct {
				ID  *string `json:"id"`
				Cmd *string `json:"cmd"`
			}
			if json.Unmarshal(text, &asked) != nil || asked.ID == nil || asked.Cmd == nil {
				return notJudged(n)
			}
			answer, err := json.Marshal(c.judge(*asked.ID, *asked.Cmd))
			if err != nil {
				return err
			}
			c.write(append(answer, '\n'))
		} else if err == nil {
			return notJudged(n)
		}
		if err != nil {
			return nil
		}
	}
	return ctx.Err()
}

// notJudged returns the error for a line of --batch that is no question.
func notJudged(line int) error {
	return &failure.Error{
		Code:    "INVALID_LINE",
		Message: fmt.Sprintf(`Line %d is not an object {"id","cmd"} with two strings`, line),
		Next:    "correct the line; those before it have been answered",
		Err:     &commandExit{ExitNotFound},
	}
}
