package trunkline

import (
	"log/slog"

	"github.com/ebitengine/purego"
)

// A lifespan is what a server needs while it is served.
type lifespan struct {
	open  func() error
	close func()
}

// SetLifespan sets functions that open what calls need, such as a database, and close it again.
// Either may be nil. Open runs before the first call, while the server starts to listen or connects
// in memory, which fails with ErrTransport if open returns an error. Close runs when the last
// listener and the last client in memory have ended. They run alternately, each time the server is
// served, and no other function of the program runs meanwhile. The lifespan of a mounted server
// opens and closes with the server it is mounted on.
func (server *Server) SetLifespan(open func() error, close func()) error {
	return server.run(func(failure *uintptr) uint32 {
		data := keep(lifespan{open, close})
		return c.ServerSetLifespan(server.server, callbacks.open, callbacks.close, data, callbacks.forget, failure)
	})
}

func registerLifespan() {
	callbacks.open = purego.NewCallback(func(data uintptr) uintptr {
		span := kept[lifespan](data)
		if span.open == nil {
			return 1
		}
		if err := recovered(span.open); err != nil {
			report(slog.LevelError, "trunkline: the lifespan of a server cannot be opened", "error", err)
			return 0
		}
		return 1
	})
	callbacks.close = purego.NewCallback(func(data uintptr) {
		if span := kept[lifespan](data); span.close != nil {
			contained(span.close)
		}
	})
}
