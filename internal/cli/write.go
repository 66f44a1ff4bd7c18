package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// written is the JSON output of a write. Event is null if nothing changed.
type written struct {
	ID string `json:"id,omitempty"`
	wire.Outcome
	Retried bool `json:"retried,omitempty"`
	wire.Below
	wire.LeftOpen
	Warnings []string `json:"warnings,omitempty"`
	// Revoked lists what a revoked token leaves behind.
	Revoked *wire.Revoked `json:"revoked,omitempty"`
}

func writtenOf(answer client.Answer, id string) written {
	return written{
		ID:       id,
		Outcome:  answer.Outcome,
		Retried:  answer.Retried,
		Below:    answer.Below,
		LeftOpen: answer.LeftOpen,
		Warnings: answer.Warnings,
		Revoked:  answer.Revoked,
	}
}

// warn shows the server's warnings about a command's effects.
func (a *Run) warn(answer client.Answer) {
	for _, warning := range answer.Warnings {
		a.Say("maestro: warning: %s\n", safetext.OneLine(warning))
	}
}

// tellBelow shows what happened to the sessions below the one that was ended or revoked; verb is "end", done "Ended".
func tellBelow(a *Run, answer client.Answer, verb, done, command string) {
	if len(answer.Also) > 0 {
		a.Print("%s %s below it too: %s\n", done, Many(len(answer.Also), "session"), strings.Join(answer.Also, ", "))
	}
	if answer.LivingBelow > 0 {
		a.Print("It has %s below it; to %s those too, run `%s`\n", Many(answer.LivingBelow, "living session"), verb,
			command)
	}
}

// dataOf returns the payload of the event that a command became, nil for "already so".
func dataOf(answer client.Answer) (events.Data, error) {
	if answer.Event == nil {
		return nil, nil
	}
	event, err := events.Decode(answer.Event)
	if err != nil {
		return nil, fmt.Errorf("the server's answer cannot be read: %w", err)
	}
	return event.Data, nil
}

// made returns the id of the object that a command created.
func made(answer client.Answer) (string, error) {
	data, err := dataOf(answer)
	if err != nil || data == nil {
		return "", err
	}
	_, id := data.Aggregate()
	return id, nil
}

// change sends a command about the object with this id, and prints the words.
func (a *Run) change(ctx context.Context, command string, body any, key, id, words string, args ...any) error {
	answer, err := a.send(ctx, command, body, key)
	if err != nil {
		return err
	}
	a.wrote(answer, id, words, args...)
	return nil
}

// wrote prints the result of a write: the words, or others for a command that changed nothing.
func (a *Run) wrote(answer client.Answer, id, words string, args ...any) {
	a.Result(writtenOf(answer, id), func() {
		switch {
		case answer.Event == nil:
			a.Print("Nothing to do: the command would change nothing\n")
		case answer.Retried:
			a.Print(words+" (by an earlier try with this key)\n", args...)
		default:
			a.Print(words+"\n", args...)
		}
		tellLeftOpen(a, answer)
	})
}

// tellLeftOpen names the tasks that a completed session leaves open.
func tellLeftOpen(a *Run, answer client.Answer) {
	if len(answer.LeavesOpen) == 0 {
		return
	}
	more := ""
	if answer.LeavesOpenMore > 0 {
		more = fmt.Sprintf(" and %d more", answer.LeavesOpenMore)
	}
	a.Print("It leaves open: %s%s\n", strings.Join(answer.LeavesOpen, ", "), more)
	if next := answer.LeavesOpenNext; next != "" {
		a.Print("%s%s\n", strings.ToUpper(next[:1]), next[1:])
	}
}

// change is a command line that sends one command and says that it was done.
type change struct {
	*Run
	fields *fields
	body   commands.Command
	key    string
	// words say what was done; args are their arguments.
	words string
	// updates says that the command sets fields, and needs at least one.
	updates bool
}

// newChange returns a command line that sends one command. The words say what was done; its arguments are theirs. told
// are the flags that agents see.
func newChange(a *Run, body commands.Command, use, short, words string, told ...string) *cobra.Command {
	return (&change{Run: a, body: body, words: words}).command(use, short, told)
}

// newUpdate is newChange for a command that sets fields.
func newUpdate(a *Run, body commands.Command, use, short, words string, told ...string) *cobra.Command {
	return (&change{
		Run:     a,
		body:    body,
		words:   words,
		updates: true,
	}).command(use, short, told)
}

func (c *change) command(use, short string, told []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  Takes,
		RunE:  Running(c.run),
	}
	c.fields = bind(cmd, c.body)
	c.keyFlag(cmd, &c.key)
	return Tell(cmd, c.body.ID(), told...)
}

func (c *change) run(ctx context.Context, args []string) error {
	if err := c.fields.set(args); err != nil {
		return err
	}
	if c.updates && !c.fields.given() {
		return nothingToUpdate(c.fields.cmd)
	}
	if x, ok := c.body.(*commands.UpdateProject); ok && x.WorkingDir != nil {
		if err := makeAbsolute(x.WorkingDir); err != nil {
			return err
		}
	}
	about := make([]any, len(args))
	for i, arg := range args {
		about[i] = safetext.OneLine(arg)
	}
	return c.change(ctx, c.body.ID(), c.body, c.key, args[0], c.words, about...)
}

func nothingToUpdate(cmd *cobra.Command) error {
	return failure.Usage("There is nothing to update").WithNext("see `%s --help`", cmd.CommandPath())
}

// keyFlag adds --key and --dry-run to a write command.
func (a *Run) keyFlag(cmd *cobra.Command, key *string) {
	cmd.Flags().BoolVar(&a.dryRun, "dry-run", false,
		"show what the command would do, or why it would be refused, without doing it")
	cmd.Flags().StringVar(key, "key", "",
		"idempotency key: a retry with the same key runs once")
}

func treeFlag(cmd *cobra.Command, tree *bool, verb string) {
	cmd.Flags().
		BoolVar(tree, "tree", false, verb+" the living sessions below it too: those that it spawned, and so on")
}

func projectFlag(cmd *cobra.Command, project *string) {
	cmd.Flags().StringVar(project, "project", "", "the project; MAESTRO_PROJECT_ID if absent")
	ValueName(cmd, "project", "<projectId>")
}

func quietFlag(cmd *cobra.Command, quiet *bool) {
	cmd.Flags().BoolVarP(quiet, "quiet", "q", false, "print the id only")
}

// ids cleans a list of ids that was given with commas.
func ids(list []string) []string {
	var kept []string
	for _, id := range list {
		if id = strings.TrimSpace(id); id != "" {
			kept = append(kept, id)
		}
	}
	return kept
}

// wroteNew prints the result of a command that created something with a name; quiet prints only the id.
func (a *Run) wroteNew(answer client.Answer, quiet bool, kind, name string) error {
	id, err := made(answer)
	if err != nil {
		return err
	}
	if quiet && !a.JSON {
		a.Print("%s\n", id)
		return nil
	}
	a.wrote(answer, id, "Created %s %s: %s", kind, id, safetext.OneLine(name))
	return nil
}
