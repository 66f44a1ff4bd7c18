package simulation

import "strings"

// webhookCommands are the commands about webhooks.
var webhookCommands = []string{"webhook:create", "webhook:update", "webhook:delete", "webhook:resume", "webhook:park"}

// fillWebhook draws the fields of a command about webhooks, good ones and bad ones.
func (c composer) fillWebhook(f *fields, id string) {
	f.Project = ""
	if id != "webhook:create" {
		f.WebhookID = c.webhook()
	}
	switch id {
	case "webhook:create", "webhook:update":
		c.fillReceiver(f, id == "webhook:create")
	case "webhook:resume":
		f.Skip = c.chance(40)
	case "webhook:park":
		f.Why = pick(c, []string{"failing", "failing", "failing", "gone", "position unknown", "", "bored"})
		f.Failures = pick(c, []int{0, 4, 5, 5, 12})
		f.Patience = pick(c, []int64{0, -1, 1, 100, 1_000, 60_000})
		f.FailingFor = f.Patience + pick(c, []int64{-1, 0, 0, 0, 500, 10_000_000})
		f.Problem = pick(c, []string{"", "it answered 500", "it answered\n500", strings.Repeat("p", 201)})
	}
}

// fillReceiver draws where a webhook sends what.
func (c composer) fillReceiver(f *fields, created bool) {
	if created || c.chance(50) {
		f.URL = ptr(pick(c, []string{
			"https://example.org/in", "https://example.org:8443/in?to=all", "http://10.0.0.1/", "https://[::1]:9/x",
			"https://me:secret@example.org/", "ftp://example.org/", "https:///in", "https://example.org/#x", "",
			"https://example.org/" + strings.Repeat("x", 2000),
		}))
	}
	if c.chance(50) {
		f.Name = ptr(pick(c, []string{"Chat", "Prüfen ✓", "", strings.Repeat("n", 201)}))
	}
	if c.chance(50) {
		f.Types = ptr(pick(c, [][]string{
			{"task"}, {"task.created", "session"}, {"task", "task"}, {}, {"coffee"}, {"maestro.task.created.v1"},
		}))
	}
	if created && c.chance(40) {
		f.ProjectID = c.project()
	}
	f.NewSecret = !created && c.chance(20)
}

// drawWebhookWish draws commands that create, change, park and resume webhooks, deleted ones too.
func (c composer) drawWebhookWish() wish {
	var sends, parked []string
	for _, id := range c.m.webhookIDs {
		switch x := c.m.webhooks[id]; {
		case x.Deleted:
		case x.Parked != "":
			parked = append(parked, id)
		default:
			sends = append(sends, id)
		}
	}
	by := admin
	id := pick(c, []string{"webhook:update", "webhook:resume", "webhook:park", "webhook:park", "webhook:delete"})
	switch {
	case len(sends) == 0 && len(parked) == 0 || c.chance(20):
		id = "webhook:create"
	case c.chance(10):
		by = c.caller()
	case id == "webhook:park":
		by = caller{kind: "system"}
	}
	w := c.wish(by, id)
	switch {
	case id == "webhook:park" && len(sends) > 0 && c.chance(80):
		w.fields.WebhookID = pick(c, sends)
	case id == "webhook:resume" && len(parked) > 0 && c.chance(70):
		w.fields.WebhookID = pick(c, parked)
	}
	return w
}

func (c composer) webhook() string {
	if c.chance(90) && len(c.m.webhookIDs) > 0 {
		return pick(c, c.m.webhookIDs)
	}
	return pick(c, []string{"", "a b", "hook_unknown"})
}
