// A server for containers: configured by environment variables, stopped by SIGTERM.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type guest struct {
	Name string `json:"name"`
}

func main() {
	port := trunkline.Must(strconv.Atoi(cmp.Or(os.Getenv("PORT"), "8000")))
	host := trunkline.Must(os.Hostname())
	greet := func(_ context.Context, _ *trunkline.Call, given guest) (string, error) {
		return fmt.Sprintf("Hello, %s, from %s!", given.Name, host), nil
	}
	server := trunkline.NewServer("greeter", "1.0.0", trunkline.ServerOptions{
		// On shutdown, calls get 20 s; other workers take over the sessions through the store.
		DrainDeadline: 20 * time.Second,
		Store:         os.Getenv("STORE"),
	})
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "greet", Description: "Greet someone."}, greet))

	// Listens on all addresses of the container, with probes at /healthz and /readyz.
	err := server.ListenAndServe(context.Background(), trunkline.HTTPOptions{
		Host:   "0.0.0.0",
		Port:   &port,
		Health: true,
	})
	if err != nil {
		log.Fatal(err)
	}
}
