package natslive

import (
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// followers counts the connections that have shown a token, and those of the feeds. The caller holds mu.
func (s *Server) followers() (count int) {
	for _, f := range s.feeds {
		count += f.account.NumLocalConnections()
	}
	return count
}

// lookAtStrangers closes connections without a token while there are too many, until the server is closed.
func (s *Server) lookAtStrangers() {
	tick := time.NewTicker(strangersLook)
	defer tick.Stop()
	for {
		select {
		case <-s.serving.Done():
			return
		case <-tick.C:
			s.makeRoom()
		}
	}
}

// makeRoom closes the connections without a token that are too many: each time the oldest one of the address that has
// most of them.
func (s *Server) makeRoom() {
	if s.nats.NumClients() <= maxStrangers {
		return
	}
	open, err := s.nats.Connz(&server.ConnzOptions{Username: true, Sort: server.ByCid, Limit: 2 * maxOpen})
	if err != nil {
		return // the server is stopped
	}
	of := map[string][]uint64{}
	strangers := 0
	for _, c := range open.Conns {
		if c.Account == "" { // it is in no account of ours
			of[c.IP] = append(of[c.IP], c.Cid)
			strangers++
		}
	}
	for ; strangers > maxStrangers; strangers-- {
		busiest := ""
		for address, connections := range of {
			if len(connections) > len(of[busiest]) {
				busiest = address
			}
		}
		_ = s.nats.DisconnectClientByID(of[busiest][0]) // it may be gone
		of[busiest] = of[busiest][1:]
	}
}
