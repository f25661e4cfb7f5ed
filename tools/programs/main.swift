import BuildVersion

// A product that stands for all programs of the package, because `swift build` takes one product: whoever builds it builds
// chatroomd, chatroomctl and botswarm.
print("chatroomd, chatroomctl, botswarm \(BuildVersion.text)")
