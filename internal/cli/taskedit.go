package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/internal/files"
	"maestro/internal/lazyregexp"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// taskEdit is `maestro task edit`.
type taskEdit struct {
	*Run
	key string
	// again is the file of an earlier edit, "" for a new one.
	again string
}

func newTaskEdit(a *Run) *cobra.Command {
	c := &taskEdit{Run: a}
	cmd := &cobra.Command{
		Use:   "edit <taskId>",
		Short: "Edit a task's title, description and criteria in your editor",
		Args:  Takes,
		Long: `Edit a task's title, description and acceptance criteria as YAML. The editor is
the program named by VISUAL, else EDITOR, else vi. The name may have arguments
("code --wait"); no shell interprets them. Your changes are sent when the
editor exits with code 0. If you change nothing, nothing is sent. If your text
cannot be used, it stays in a file; --file continues with it.`,
		RunE: Running(c.run),
	}
	a.keyFlag(cmd, &c.key)
	cmd.Flags().StringVar(&c.again, "file", "", "continue with the text of an earlier edit, which this file holds")
	ValueName(cmd, "file", "<file>")
	return Untold(Tell(cmd, "task:update"))
}

// editedTask is the part of a task that is edited.
type editedTask struct {
	Title       string   `yaml:"title"`
	Description string   `yaml:"description"`
	Criteria    []string `yaml:"criteria"`
}

func (c *taskEdit) run(ctx context.Context, args []string) error {
	if c.again != "" { // an editor would create a new file
		if err := CheckNamed(c.again); err != nil {
			return err
		}
	}
	editor, err := c.editor(args[0])
	if err != nil {
		return err
	}
	t, err := Ask(ctx, c.Run, (*client.Client).Task, args[0])
	if err != nil {
		return err
	}
	redacted, gone := t.Redacted["description"]
	if gone { // what is left can be replaced, and is kept if it stays as it is
		c.Say("maestro: the description was %s; you edit its beginning\n", Redacted(redacted))
	}
	if digest := t.Blobs["description"]; digest != "" && !gone { // the task has only its beginning
		whole, err := Ask(ctx, c.Run, (*client.Client).Blob, digest)
		if err != nil {
			return err
		}
		t.Description = string(whole)
	}
	was := editedTask{t.Title, t.Description, t.AcceptanceCriteria}
	now, file, err := c.edit(ctx, editor, t, was)
	if err != nil {
		return err
	}
	change, changed := changeOf(t.ID, was, now)
	if changed {
		err = c.change(ctx, "task:update", &change, c.key, t.ID, "Updated task %s", t.ID)
	} else {
		c.wrote(client.Answer{}, t.ID, "")
	}
	if err != nil && !errors.Is(err, errDone) {
		c.Say("maestro: your text is in %s; `%s` continues with it\n", file, continueEdit(t.ID, file))
		return err
	}
	if c.again != "" {
		return err
	}
	return cmp.Or(err, os.Remove(file))
}

// continueEdit returns the command that continues to edit the text of an earlier edit.
func continueEdit(task, file string) string {
	return "maestro task edit " + task + " --file " + safetext.Quoted(file)
}

// changeOf returns the command for the edits of a task, and whether there are any.
func changeOf(task string, was, now editedTask) (change commands.UpdateTask, changed bool) {
	change.TaskID = task
	if now.Title != was.Title {
		change.Title, changed = &now.Title, true
	}
	// A block of YAML ends in a line break, whether the text does or not.
	if strings.TrimRight(now.Description, "\n") != strings.TrimRight(was.Description, "\n") {
		change.Description, changed = &now.Description, true
	}
	if !slices.Equal(now.Criteria, was.Criteria) {
		criteria := append([]string{}, now.Criteria...)
		change.AcceptanceCriteria, changed = &criteria, true
	}
	return change, changed
}

// edit lets the user edit a task, and returns the result and the file that holds it. The file stays if edit fails after
// the editor ran.
func (c *taskEdit) edit(
	ctx context.Context, editor []string, t wire.Task, was editedTask,
) (now editedTask, file string, err error) {
	var text bytes.Buffer
	fmt.Fprintf(&text, "# Task %s. Save, and leave the editor; if you change nothing, nothing is sent.\n", t.ID)
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := cmp.Or(encoder.Encode(was), encoder.Close()); err != nil {
		return now, "", fmt.Errorf("write the task as YAML: %w", err)
	}
	if file, err = c.fileToEdit(t.ID, text.Bytes()); err != nil {
		return now, "", err
	}
	if err = c.runEditor(ctx, editor, file); err != nil {
		if c.again == "" {
			err = cmp.Or(err, os.Remove(file))
		}
		return now, "", err
	}
	edited, err := readEdited(file)
	if err != nil {
		return now, "", err
	}
	if bytes.Equal(edited, text.Bytes()) {
		return was, file, nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(edited))
	decoder.KnownFields(true)
	if err := decoder.Decode(&now); err != nil && !errors.Is(err, io.EOF) {
		return now, "", failure.Usage("The edited task cannot be read").WithWhy("%s", plainYAML(err)).
			WithNext("your text is in %s; correct it with `%s`", file, continueEdit(t.ID, file))
	}
	return now, file, nil
}

// readEdited reads the file that an editor left: a regular one.
func readEdited(file string) ([]byte, error) {
	f, err := files.OpenNamed(file)
	if err != nil {
		return nil, notOpened(file, err)
	}
	defer func() { _ = f.Close() }()
	edited, err := io.ReadAll(f)
	if err != nil {
		return nil, Unreadable(file, err)
	}
	return edited, nil
}

// unknownKey matches the error of the YAML library for a key that the edited task does not have.
var unknownKey = lazyregexp.New(`field (\S+) not found in type \S+`)

// plainYAML describes an error of the YAML library without its own types.
func plainYAML(err error) string {
	words := err.Error()
	var several *yaml.TypeError
	if errors.As(err, &several) {
		words = strings.Join(several.Errors, "; ")
	}
	words = strings.TrimPrefix(words, "yaml: ")
	return unknownKey().ReplaceAllString(words, "there is no field $1, only title, description and criteria")
}

// fileToEdit returns the file to edit: that of an earlier edit, or a new one with the given text.
func (c *taskEdit) fileToEdit(task string, text []byte) (string, error) {
	if c.again != "" {
		return c.again, nil
	}
	f, err := os.CreateTemp("", "maestro-"+filepath.Base(task)+"-*.yaml") // 0600
	if err != nil {
		return "", fmt.Errorf("make a file to edit: %w", err)
	}
	_, err = f.Write(text)
	if err = cmp.Or(err, f.Close()); err != nil {
		return "", cmp.Or(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// needTerminal are editors that wait for keys, and hang or fail without a terminal.
var needTerminal = []string{
	"vi", "vim", "nvim", "view", "nano", "pico", "emacs", "micro", "hx", "joe", "jed", "mcedit", "ne", "kak",
}

// editor returns the user's editor and its arguments. A process without a terminal gets none that needs one, and a
// session without a terminal none at all: nobody would end it.
func (c *taskEdit) editor(task string) ([]string, error) {
	editor := strings.Fields(cmp.Or(c.Getenv("VISUAL"), c.Getenv("EDITOR"), "vi"))
	switch {
	case len(editor) == 0:
		return nil, failure.Usage("VISUAL or EDITOR is set, but names no program").
			WithNext("set it to an editor, such as vi")
	case isTerminal(c.Stdin) && (c.JSON || c.terminal()): // with --json, the editor draws on stderr
	case c.isSession() || slices.Contains(needTerminal, filepath.Base(editor[0])):
		return nil, failure.Usage("`maestro task edit` needs a terminal").
			WithWhy("%s waits for somebody who types", editor[0]).
			WithNext("use `maestro task update %s --title \"<title>\" --description \"<text>\"`", task)
	}
	return editor, nil
}

// runEditor runs the user's editor on a file.
func (c *taskEdit) runEditor(ctx context.Context, editor []string, file string) error {
	cmd := exec.CommandContext(ctx, editor[0], append(editor[1:], file)...) //nolint:gosec // the user's own editor
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	if c.JSON {
		cmd.Stdout = c.Stderr // stdout is for the result
	}
	if err := cmd.Run(); err != nil {
		return failure.Usage("The editor %s failed, and nothing is changed", editor[0]).WithWhy("%s", err).
			WithNext("set VISUAL or EDITOR to a program that edits a file, or use `maestro task update`")
	}
	return nil
}
