package rawbench

import (
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// unmarshalAck decodes an acknowledgement, or the error in its place.
func unmarshalAck(data []byte, ack *jetstream.PubAck) error {
	answer := struct {
		*jetstream.PubAck
		Error *jetstream.APIError `json:"error"`
	}{PubAck: ack}
	if err := json.Unmarshal(data, &answer); err != nil {
		return fmt.Errorf("the acknowledgement %q: %w", data, err)
	}
	if answer.Error != nil {
		return answer.Error
	}
	return nil
}
