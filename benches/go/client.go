// The bench client in Go: client N INFLIGHT -- COMMAND... | client N INFLIGHT URL
//
// With INFLIGHT `resource`, it reads a resource N times.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strconv"
	"sync"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

// Characters of base64 in the resource, which is four thirds of its bytes.
const blobLength = 16 << 20

func call(ctx context.Context, client *trunkline.Client, number int) {
	text := fmt.Sprintf("m%d", number)
	result := trunkline.Must(client.CallTool(ctx, "echo", map[string]string{"message": text}))
	if found := result.Content.Text(); found != text {
		log.Fatal("wrong text: ", found)
	}
}

func read(ctx context.Context, client *trunkline.Client) {
	result := trunkline.Must(client.ReadResource(ctx, "bench:blob"))
	if len(result.Contents[0].Blob) != blobLength/4*3 {
		log.Fatal("wrong contents")
	}
}

func callConcurrently(ctx context.Context, client *trunkline.Client, calls, inFlight int) {
	var all sync.WaitGroup
	for first := range inFlight {
		all.Go(func() {
			for number := first; number < calls; number += inFlight {
				call(ctx, client, number)
			}
		})
	}
	all.Wait()
}

func connect(ctx context.Context, target []string) (*trunkline.Client, error) {
	options := trunkline.ClientOptions{Revision: "2025-11-25"}
	if target[0] == "--" {
		return trunkline.ConnectCommand(ctx, exec.Command(target[1], target[2:]...), options)
	}
	return trunkline.Connect(ctx, target[0], options)
}

func main() {
	if len(os.Args) < 4 {
		log.Fatal("usage: client N INFLIGHT -- COMMAND... | client N INFLIGHT URL")
	}
	calls, isResource := trunkline.Must(strconv.Atoi(os.Args[1])), os.Args[2] == "resource"
	ctx := context.Background()
	client := trunkline.Must(connect(ctx, os.Args[3:]))
	defer client.Close()
	for number := range 200 {
		if !isResource {
			call(ctx, client, number)
		}
	}
	fmt.Println("READY")
	var line string
	_, _ = fmt.Scanln(&line)
	if isResource {
		for range calls {
			read(ctx, client)
		}
	} else {
		callConcurrently(ctx, client, calls, trunkline.Must(strconv.Atoi(os.Args[2])))
	}
	fmt.Println("DONE")
	_, _ = io.Copy(io.Discard, os.Stdin)
}
