package cli

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

func newWebhook(a *Run) *cobra.Command {
	return a.group(
		"webhook",
		"Webhooks: send the events of the log to other programs",
		newWebhookCreate(a),
		newWebhookList(a),
		newWebhookGet(a),
		newWebhookUpdate(a),
		newWebhookDelete(a),
		newWebhookResume(a),
		newWebhookSecret(a),
		newWebhookTest(a),
	)
}

// webhookMade is the JSON output of a command that gives a webhook a secret.
type webhookMade struct {
	written
	Secret string `json:"secret,omitempty"`
}

// webhookCreate is `maestro webhook create`.
type webhookCreate struct {
	*Run
	fields *fields
	body   commands.CreateWebhook
	key    string
	quiet  bool
}

func newWebhookCreate(a *Run) *cobra.Command {
	c := &webhookCreate{Run: a}
	cmd := &cobra.Command{
		Use:   "create <url>",
		Short: "Send events to a URL from now on, and print the secret that signs them",
		Args:  Takes,
		Long: `Send events to a URL from now on, as CloudEvents over HTTP with the signatures
of Standard Webhooks. The receiver gets the events of each task, session and so
on in order, at least once, and accepts one by answering with a status from 200
to 299. Everything else is tried again, with longer and longer pauses. If the
receiver stays away for a day, the webhook is parked; nothing is lost, and
'maestro webhook resume' goes on where it stopped.

The URL begins with https:// and must lead to the public internet. The operator
can allow other networks, also without TLS: 'maestro serve --allow-webhooks-to'.
It is stored in the log, so it must not hold a password.

The secret is stored nowhere: the server computes it from its key, and
'maestro webhook secret' prints it again.`,
		RunE: Running(c.run),
	}
	c.fields = bind(cmd, &c.body)
	a.keyFlag(cmd, &c.key)
	quietFlag(cmd, &c.quiet)
	return Tell(cmd, "webhook:create", "name", "project", "types")
}

func (c *webhookCreate) run(ctx context.Context, args []string) error {
	if err := c.fields.set(args); err != nil {
		return err
	}
	answer, err := c.send(ctx, "webhook:create", &c.body, c.key)
	if err != nil {
		return err
	}
	id, err := made(answer)
	if err != nil {
		return err
	}
	if c.quiet && !c.JSON {
		c.Print("%s\n", id)
		return nil
	}
	c.Result(webhookMade{writtenOf(answer, id), answer.Token}, func() {
		c.Print("Created webhook %s, which sends to %s\n", id, safetext.OneLine(c.body.URL))
		c.showWebhookSecret(answer.Token)
	})
	return nil
}

// showWebhookSecret prints the secret of a new webhook, or of one that has a new secret.
func (a *Run) showWebhookSecret(secret string) {
	if secret != "" {
		a.Print("Its receiver verifies the events with this secret, made from the server's key:\n%s\n", secret)
	}
}

// webhookList is `maestro webhook list`.
type webhookList struct {
	*Run
}

func newWebhookList(a *Run) *cobra.Command {
	c := &webhookList{Run: a}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the webhooks, and whether their receivers get their events",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	a.ListFlags(cmd)
	a.watchTicksFlag(cmd)
	return Tell(cmd, "webhook:list")
}

func (c *webhookList) run(ctx context.Context, _ []string) error {
	hooks, err := Look(ctx, c.Run, (*client.Client).Webhooks)
	if err != nil {
		return err
	}
	columns := []string{"ID", "STATUS", "BEHIND", "URL", "NAME"}
	List(c.Run, hooks, "There are no webhooks", columns, func(x wire.Webhook) []string {
		behind := ""
		if x.Delivery != nil {
			behind = strconv.FormatUint(x.Delivery.Behind, 10)
		}
		return []string{x.ID, webhookStatus(x), behind, safetext.Clip(x.URL, 60), safetext.Clip(x.Name, 40)}
	})
	return nil
}

// webhookStatus says in a word how a webhook is.
func webhookStatus(x wire.Webhook) string {
	switch {
	case x.Parked != nil:
		return "parked"
	case x.Delivery == nil:
		return "not sending"
	case x.Delivery.Failures > 0:
		return "failing"
	}
	return "sending"
}

// webhookGet is `maestro webhook get`.
type webhookGet struct {
	*Run
}

func newWebhookGet(a *Run) *cobra.Command {
	c := &webhookGet{Run: a}
	return Tell(&cobra.Command{
		Use:   "get <webhookId>",
		Short: "Show a webhook, how far its receiver is, and what is wrong",
		Args:  Takes,
		RunE:  Running(c.run),
	}, "webhook:get")
}

func (c *webhookGet) run(ctx context.Context, args []string) error {
	x, err := Ask(ctx, c.Run, (*client.Client).Webhook, args[0])
	if err != nil {
		return err
	}
	c.Result(x, func() { showWebhook(c.Run, x) })
	return nil
}

func showWebhook(a *Run, x wire.Webhook) {
	line := func(name, value string) {
		if value != "" {
			a.Print("  %-11s%s\n", name, safetext.OneLine(value))
		}
	}
	a.Print("%s%s\n", x.ID, Prefixed(": ", safetext.OneLine(x.Name)))
	line("Status", webhookStatus(x))
	line("URL", x.URL)
	line("Project", x.ProjectID)
	line("Types", strings.Join(x.Types, ", "))
	line("Created", a.When(x.CreatedAt)+" by "+Who(x.CreatedBy))
	if d := x.Delivery; d != nil {
		line("Got", "everything up to event "+strconv.FormatUint(d.UpTo, 10)+"; "+
			Many(int(d.Behind), "event")+" of the log behind") //nolint:gosec // a log has no more
		if d.AcceptedAt != nil {
			accepted := Many(int(d.Accepted), "event") //nolint:gosec // as above
			line("Accepted", accepted+", the last one "+a.When(*d.AcceptedAt))
		}
		if d.Problem != "" {
			line("Problem", d.Problem)
		}
		if d.FailingSince != nil {
			line("Failing", "since "+a.When(*d.FailingSince)+", "+Many(d.Failures, "failure"))
		}
		if d.NextTryAt != nil {
			line("Next try", a.When(*d.NextTryAt))
		}
	}
	if p := x.Parked; p != nil {
		line("Parked", a.When(p.At)+": "+string(p.Why)+Prefixed(", ", p.Problem))
		if p.Why == events.ParkUnknown {
			a.Print("What it got is not known, because this home was restored or copied. `maestro webhook resume %s` "+
				"sends everything since event %d again; with --skip, it gets only what happens from then on\n",
				x.ID, x.After+1)
			return
		}
		a.Print("To go on where it stopped, run `maestro webhook resume %s`; with --skip, it gets only what happens "+
			"from then on\n", x.ID)
	}
}

// webhookUpdate is `maestro webhook update`.
type webhookUpdate struct {
	*Run
	fields *fields
	body   commands.UpdateWebhook
	key    string
}

func newWebhookUpdate(a *Run) *cobra.Command {
	c := &webhookUpdate{Run: a}
	cmd := &cobra.Command{
		Use:   "update <webhookId>",
		Short: "Change where a webhook sends what, or replace its secret",
		Args:  Takes,
		Long: `Change where a webhook sends what, or replace its secret. What was not sent yet
is sent to the new URL, signed with the new secret, if its type is one of the
new types. A parked webhook stays parked until it is resumed.`,
		RunE: Running(c.run),
	}
	c.fields = bind(cmd, &c.body)
	a.keyFlag(cmd, &c.key)
	return Tell(cmd, "webhook:update", "url", "types", "new-secret")
}

func (c *webhookUpdate) run(ctx context.Context, args []string) error {
	if err := c.fields.set(args); err != nil {
		return err
	}
	if !c.fields.given() {
		return nothingToUpdate(c.fields.cmd)
	}
	answer, err := c.send(ctx, "webhook:update", &c.body, c.key)
	if err != nil {
		return err
	}
	c.Result(webhookMade{writtenOf(answer, args[0]), answer.Token}, func() {
		c.Print("Updated webhook %s\n", args[0])
		c.showWebhookSecret(answer.Token)
	})
	return nil
}

func newWebhookDelete(a *Run) *cobra.Command {
	return newChange(a, &commands.DeleteWebhook{}, "delete <webhookId>",
		"Delete a webhook: its receiver gets nothing more", "Deleted webhook %[1]s")
}

// webhookResume is `maestro webhook resume`.
type webhookResume struct {
	*Run
	fields *fields
	body   commands.ResumeWebhook
	key    string
}

func newWebhookResume(a *Run) *cobra.Command {
	c := &webhookResume{Run: a}
	cmd := &cobra.Command{
		Use:   "resume <webhookId>",
		Short: "Send again to a parked webhook what it has not got",
		Args:  Takes,
		Long: `Send again to a parked webhook, from the first event that it has not got. With
--skip, it gets only what happens from now on. If a restored home does not know
what the webhook got, it gets everything since its creation again, unless you
skip that. A webhook that is not parked tries at once what failed.`,
		RunE: Running(c.run),
	}
	c.fields = bind(cmd, &c.body)
	a.keyFlag(cmd, &c.key)
	return Tell(cmd, "webhook:resume", "skip")
}

func (c *webhookResume) run(ctx context.Context, args []string) error {
	if err := c.fields.set(args); err != nil {
		return err
	}
	answer, err := c.send(ctx, "webhook:resume", &c.body, c.key)
	switch {
	case err != nil:
		return err
	case answer.Event != nil:
		c.wrote(answer, args[0], "Resumed webhook %s", safetext.OneLine(args[0]))
	default:
		c.Result(writtenOf(answer, args[0]), func() {
			c.Print("Webhook %s is not parked; what could not be sent is tried again now\n", safetext.OneLine(args[0]))
		})
	}
	return nil
}

// webhookSecret is `maestro webhook secret`.
type webhookSecret struct {
	*Run
}

func newWebhookSecret(a *Run) *cobra.Command {
	c := &webhookSecret{Run: a}
	return &cobra.Command{
		Use:   "secret <webhookId>",
		Short: "Print the secret with which a webhook signs",
		Args:  Takes,
		RunE:  Running(c.run),
	}
}

func (c *webhookSecret) run(ctx context.Context, args []string) error {
	secret, err := Ask(ctx, c.Run, (*client.Client).WebhookSecret, args[0])
	if err != nil {
		return err
	}
	c.warnOfSecret("keep it where only its owner reads it: `maestro webhook secret " +
		safetext.Quoted(args[0]) + " >FILE`")
	c.Result(secret, func() { c.Print("%s\n", secret.Secret) })
	return nil
}

// webhookTest is `maestro webhook test`.
type webhookTest struct {
	*Run
}

func newWebhookTest(a *Run) *cobra.Command {
	c := &webhookTest{Run: a}
	return &cobra.Command{
		Use:   "test <webhookId>",
		Short: "Send a test message to a webhook's receiver, and show its answer",
		Args:  Takes,
		Long: `Send a test message to a webhook's receiver, also if the webhook is parked, and
show its answer. The message is a CloudEvent of the type maestro.webhook.test.v1
with a signature. It is sent once, within 20 seconds, and it is not an event of
the log.`,
		RunE: Running(c.run),
	}
}

func (c *webhookTest) run(ctx context.Context, args []string) error {
	test, err := Ask(ctx, c.Run, (*client.Client).TestWebhook, args[0])
	if err != nil {
		return err
	}
	if !test.Accepted {
		next := "correct the receiver, or change the URL with `maestro webhook update " + safetext.Quoted(args[0]) +
			" --url <url>`, and test it again"
		if strings.Contains(test.Problem, wire.UnlessAllowed) {
			next = wire.AllowNext + "; or change the URL with `maestro webhook update " +
				safetext.Quoted(args[0]) + " --url <url>`"
		}
		return &failure.Error{
			Status:  http.StatusInternalServerError,
			Code:    "NOT_ACCEPTED",
			Message: "The receiver of webhook " + args[0] + " did not accept the test: " + test.Problem,
			Next:    next,
			Details: map[string]any{"test": test},
		}
	}
	c.Result(test, func() { c.Print("Accepted: it answered %d within %d ms\n", test.Status, test.Took) })
	return nil
}
