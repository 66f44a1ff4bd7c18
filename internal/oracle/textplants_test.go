package oracle

import (
	"fmt"
	"strings"
)

func usePlants() []plant {
	used := func(data string) func(s *story) {
		return func(s *story) { s.add(system, "token.used", data) }
	}
	made := func(s *story) { s.add(admin, "token.created", `{"name":"eve","kind":"admin","generation":1}`) }
	uses := func(name string, before func(s *story), data string) plant {
		return plant{name, broken(ruleToken), before, used(data)}
	}
	return []plant{
		uses("an unknown token is used", nothing, `{"name":"eve","generation":1,"address":"192.0.2.1"}`),
		uses("another generation of a token is used", made, `{"name":"eve","generation":2,"address":"192.0.2.1"}`),
		uses("the home's own token has a generation", nothing, `{"name":"admin","generation":1,"address":"192.0.2.1"}`),
		uses("a use from nowhere", nothing, `{"name":"admin","address":""}`),
		uses("a use twice", used(`{"name":"admin","address":"192.0.2.1"}`), `{"name":"admin","address":"192.0.2.1"}`),
		uses("a login that ends before it begins", nothing, `{"name":"admin","address":"192.0.2.1","loginUntil":1}`),
		uses("one address too many", func(s *story) {
			for n := range maxOrigins {
				used(fmt.Sprintf(`{"name":"admin","address":"192.0.2.%d"}`, n))(s)
			}
		}, `{"name":"admin","address":"198.51.100.1"}`),
		{"a user notes a use", broken(ruleSystem), nothing, func(s *story) {
			s.add(admin, "token.used", `{"name":"admin","address":"192.0.2.1"}`)
		}},
	}
}

func textPlants() []plant {
	digest := "sha256-" + strings.Repeat("c", 64)
	redacted := func(s *story) { s.add(admin, "text.redacted", `{"text":"`+digest+`","reason":"it held a password"}`) }
	redacts := func(name, data string) plant {
		return plant{name, broken(ruleText), nothing, func(s *story) { s.add(admin, "text.redacted", data) }}
	}
	return []plant{
		redacts("a redaction of no digest", `{"text":"sha256-1","reason":"x"}`),
		redacts("a redaction without a reason", `{"text":"`+digest+`","reason":" "}`),
		{"a redaction twice", broken(ruleText), redacted, redacted},
		{"a redacted text comes back", broken(ruleText), redacted, func(s *story) {
			s.report(work, "progress", `,"blobs":{"message":"`+digest+`"}`)
		}},
	}
}
