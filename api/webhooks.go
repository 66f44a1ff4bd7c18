package api

import (
	"net/http"

	"maestro/api/route"
	"maestro/service"
	"maestro/service/wire"
)

func (s *server) webhookRoutes() {
	route.ReadParts(s.mount(), route.Route{
		Path:    "/api/webhooks",
		Name:    "webhook-list",
		Summary: "The webhooks, with how far their receivers are; never a secret",
	}, route.Bare(service.View.ListWebhooks))
	route.Read(s.mount(), route.Route{
		Path:    "/api/webhooks/{id}",
		Name:    "webhook-get",
		Summary: "A webhook, with how far its receiver is",
	}, service.View.GetWebhook)
	route.Read(s.mount(), route.Route{
		Path:    "/api/webhooks/{id}/secret",
		Name:    "webhook-secret",
		Summary: "The secret with which a webhook signs",
	}, service.View.GetWebhookSecret)
	answers(s, "POST /api/webhooks/{id}/test", "Send a test message to a webhook's receiver", s.testWebhook)
}

func (s *server) testWebhook(r *http.Request) (wire.WebhookTest, error) {
	return s.TestWebhook(r.Context(), callOf(r.Context()).Caller, r.PathValue("id"))
}
