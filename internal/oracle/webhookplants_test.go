package oracle

import "time"

func webhookPlants() []plant {
	made := func(s *story) {
		s.add(admin, "webhook.created", `{"webhookId":"hook","url":"https://example.org/","generation":1}`)
		s.wait(time.Hour)
	}
	parked := func(s *story) { made(s); s.add(system, "webhook.parked", `{"webhookId":"hook","why":"gone"}`) }
	gone := func(s *story) { made(s); s.add(admin, "webhook.deleted", `{"webhookId":"hook"}`) }
	by := func(source string, name, rule string, before func(s *story), short, data string) plant {
		return plant{name, broken(rule), before, func(s *story) { s.add(source, short, data) }}
	}
	admins := func(name, rule string, before func(s *story), short, data string) plant {
		return by(admin, name, rule, before, short, data)
	}
	creates := func(name, rule, fields string) plant {
		return admins(name, rule, nothing, "webhook.created", `{"webhookId":"x",`+fields+`}`)
	}
	parks := func(name, rule, fields string) plant {
		return by(system, name, rule, made, "webhook.parked", `{"webhookId":"hook",`+fields+`}`)
	}
	return []plant{
		{"an orchestrator creates a webhook", broken(rulePermitted, ruleScope), nothing, func(s *story) {
			s.add(orch, "webhook.created", `{"webhookId":"x","url":"https://example.org/","generation":1}`)
		}},
		admins("a webhook twice", ruleExists, made, "webhook.created",
			`{"webhookId":"hook","url":"https://example.org/","generation":1}`),
		admins("a deleted webhook is created again", ruleExists, gone, "webhook.created",
			`{"webhookId":"hook","url":"https://example.org/","generation":1}`),
		creates("a webhook to a file", ruleWebhook, `"url":"file:///etc/passwd","generation":1`),
		creates("a webhook without a host", ruleWebhook, `"url":"https:///in","generation":1`),
		creates("a webhook with a password in its address", ruleWebhook,
			`"url":"https://me:pass@example.org/","generation":1`),
		creates("a webhook with a fragment", ruleWebhook, `"url":"https://example.org/#x","generation":1`),
		creates("a webhook for events that do not exist", ruleWebhook,
			`"url":"https://example.org/","types":["coffee"],"generation":1`),
		creates("a webhook with a type twice", ruleWebhook,
			`"url":"https://example.org/","types":["task","task"],"generation":1`),
		creates("a webhook of no project", ruleExists,
			`"url":"https://example.org/","projectId":"none","generation":1`),
		creates("a webhook whose first secret is its second", ruleWebhook,
			`"url":"https://example.org/","generation":2`),
		admins("a webhook that does not exist is changed", ruleExists, nothing, "webhook.updated",
			`{"webhookId":"none","name":"x"}`),
		admins("an update changes nothing in a webhook", ruleWebhook, made, "webhook.updated", `{"webhookId":"hook"}`),
		admins("a webhook is moved to a file", ruleWebhook, made, "webhook.updated",
			`{"webhookId":"hook","url":"file:///etc/passwd"}`),
		admins("a webhook's types are changed to none that exist", ruleWebhook, made, "webhook.updated",
			`{"webhookId":"hook","types":["coffee"]}`),
		admins("a webhook's secret is replaced by an old one", ruleWebhook, made, "webhook.updated",
			`{"webhookId":"hook","generation":1}`),
		admins("a webhook is deleted twice", ruleExists, gone, "webhook.deleted", `{"webhookId":"hook"}`),
		admins("a webhook that sends is resumed", ruleWebhook, made, "webhook.resumed", `{"webhookId":"hook"}`),
		admins("a deleted webhook is resumed", ruleExists, gone, "webhook.resumed",
			`{"webhookId":"hook","skipped":true}`),
		admins("the user parks a webhook", ruleSystem, made, "webhook.parked", `{"webhookId":"hook","why":"gone"}`),
		by(system, "a webhook is parked twice", ruleWebhook, parked, "webhook.parked",
			`{"webhookId":"hook","why":"gone"}`),
		by(system, "a deleted webhook is parked", ruleExists, gone, "webhook.parked",
			`{"webhookId":"hook","why":"gone"}`),
		parks("a webhook is parked for nothing", ruleWebhook, `"why":"bored"`),
		parks("a webhook is parked after too few failures", ruleWebhook,
			`"why":"failing","failures":4,"failingFor":60000,"patience":60000`),
		parks("a webhook is parked too early", ruleWebhook,
			`"why":"failing","failures":5,"failingFor":59999,"patience":60000`),
		parks("a webhook is parked without patience", ruleWebhook, `"why":"failing","failures":5,"failingFor":1`),
		parks("a webhook failed for longer than it exists", ruleWebhook,
			`"why":"failing","failures":5,"failingFor":3700000,"patience":60000`),
		{"a resumed webhook failed before it was resumed", broken(ruleWebhook), func(s *story) {
			parked(s)
			s.wait(time.Hour)
			s.add(admin, "webhook.resumed", `{"webhookId":"hook"}`)
		}, func(s *story) {
			s.add(system, "webhook.parked",
				`{"webhookId":"hook","why":"failing","failures":5,"failingFor":60000,"patience":60000}`)
		}},
	}
}
