// Suggestions for a prompt argument while the user types.
import Trunkline

let cities = ["Oslo", "Osaka", "Rome"]

@main
struct Main {
    static func main() async throws {
        let trips = Server("trips", version: "1.0.0")
        let arguments = [PromptArgument(name: "city", required: true)]
        let options = PromptOptions(completers: ["city": { request, _ in cities.filter { $0.hasPrefix(request.value) } }])
        try trips.prompt(
            "packing", description: "List the things to pack for a city.", arguments: arguments, options: options
        ) { given, _ in
            "Write a packing list for \(given["city"] ?? "a trip")."
        }

        try await Client.connect(to: trips).use { client in
            let packing = CompletionReference.prompt(PromptReference(name: "packing"))
            let result = try await client.complete(packing, argument: CompleteArgument(name: "city", value: "Os"))
            print(result.completion.values.joined(separator: ", "))
        }
    }
}
