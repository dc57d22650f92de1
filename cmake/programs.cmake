# Builds the programs by cargo: the target `urdf_usd_programs`, and their folder `programs`.

# Checked at configure time, so that a missing or old Rust is one clear message.
find_program(CARGO cargo HINTS "$ENV{CARGO_HOME}/bin" "$ENV{HOME}/.cargo/bin")
if(NOT CARGO)
  message(FATAL_ERROR "urdf_usd is written in Rust and `cargo` was not found: install it from https://rustup.rs")
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS Cargo.toml)
file(STRINGS Cargo.toml rust_wanted REGEX "^rust-version = ")
string(REGEX REPLACE "[^0-9.]" "" rust_wanted "${rust_wanted}")
execute_process(COMMAND ${CARGO} --version OUTPUT_VARIABLE rust_found WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
string(REGEX MATCH "[0-9]+\\.[0-9]+" rust_found "${rust_found}")
if(rust_found VERSION_LESS rust_wanted)
  message(FATAL_ERROR "urdf_usd needs Rust ${rust_wanted}, found ${rust_found} (${CARGO}): run `rustup update`")
endif()

# crates/serve/build.rs builds the viewer with npm; --quiet below hides its warning, so it is repeated here.
find_program(NPM npm)
if(NOT NPM)
  message(STATUS "npm was not found: urdf_usd is built without its 3D viewer (Node.js 20 or newer has npm)")
endif()

# The choice of the client depends on the environment of the build. CMake configures again before a build if one of these appears or
# vanishes: the generator in a prefix in use, or in the prefix of another package of the workspace.
string(REPLACE ":" ";" prefixes "$ENV{AMENT_PREFIX_PATH}:$ENV{CMAKE_PREFIX_PATH}")
set(generators ${prefixes} ${CMAKE_INSTALL_PREFIX})
list(FILTER generators EXCLUDE REGEX "^$")
list(TRANSFORM generators APPEND "/share/rosidl_generator_rs/package.xml")
get_filename_component(workspace "${CMAKE_INSTALL_PREFIX}" DIRECTORY)
file(GLOB generators CONFIGURE_DEPENDS ${generators} ${workspace}/*/share/rosidl_generator_rs/package.xml)

# rcl links to this library, which only a workspace with a single RMW lacks.
find_library(RMW_IMPLEMENTATION rmw_implementation)
set(why_no_rcl "")
if(NOT RMW_IMPLEMENTATION)
  set(why_no_rcl "the library rmw_implementation was not found: a workspace has it that knows more than one RMW")
endif()
set(why_not_rclrs "${why_no_rcl}")
if(NOT rosidl_generator_rs_FOUND)
  set(why_not_rclrs "rosidl_generator_rs was not found (https://github.com/ros2-rust/rosidl_rust, in the same workspace or installed)")
elseif(NOT "$ENV{ROS_DISTRO}" MATCHES "^(humble|jazzy|kilted|lyrical|rolling)$")
  set(why_not_rclrs "ROS_DISTRO is \"$ENV{ROS_DISTRO}\", for which there is no rclrs")
endif()
set(why_not_r2r "${why_no_rcl}")
if(NOT "$ENV{ROS_DISTRO}" MATCHES "^(humble|jazzy|lyrical|rolling)$")
  set(why_not_r2r "ROS_DISTRO is \"$ENV{ROS_DISTRO}\", which r2r 0.9.7 does not support")
endif()
set(distro "$ENV{ROS_DISTRO}")
set(client ${URDF_USD_ROS})
set(why "")
if(client STREQUAL "auto")
  if(why_not_rclrs)
    set(client embedded)
    set(why ": ${why_not_rclrs}")
  else()
    set(client rclrs)
  endif()
elseif(why_not_${client})
  message(FATAL_ERROR "URDF_USD_ROS=${client}: ${why_not_${client}}")
endif()
set(zenoh FALSE)
if(client STREQUAL "embedded")
  # If this RMW is installed, nodes may run on it.
  ament_index_has_resource(zenoh rmw_typesupport rmw_zenoh_cpp)
endif()
set(installed "the node with the ROS client ${client}${why}")
if(zenoh)
  string(APPEND installed "; on Zenoh under RMW_IMPLEMENTATION=rmw_zenoh_cpp, which this workspace has")
endif()
message(STATUS "urdf_usd: building ${installed}")

# --ignore-rust-version: see .cargo/config.toml. --quiet: colcon reports output on standard error as a problem.
set(cargo_build ${CARGO} build --bins --locked --quiet --ignore-rust-version)
set(cargo_target ${CMAKE_CURRENT_BINARY_DIR}/cargo)
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(programs ${cargo_target}/debug)
else()
  list(APPEND cargo_build --release)
  set(programs ${cargo_target}/release)
endif()
if(zenoh)
  list(APPEND cargo_build --features zenoh)
endif()
# Messages for rcl: those that a client or the node uses, with the messages that they contain.
set(messages action_msgs builtin_interfaces diagnostic_msgs geometry_msgs rcl_interfaces rosgraph_msgs sensor_msgs std_msgs tf2_msgs)
if(client MATCHES "^(rclrs|r2r)$")
  list(APPEND cargo_build --features ${client})
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()
if(client STREQUAL "rclrs")
  # The .idl files that rosidl has generated for the interfaces, as FOLDER:FILE.
  list(GET rosidl_generate_interfaces_IDL_TUPLES 0 own)
  string(REGEX REPLACE ":[^:]*$" "" own "${own}")
  set(cargo_build
    ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/with_rust_messages.py
    --generator ${rosidl_generator_rs_BIN} --templates ${rosidl_generator_rs_TEMPLATE_DIR}
    --prefix ${CMAKE_CURRENT_BINARY_DIR}/rust_messages
    --own ${PROJECT_NAME}=${own} --libraries ${CMAKE_CURRENT_BINARY_DIR}
    --packages ${messages} --command ${cargo_build})
elseif(client STREQUAL "r2r")
  set(cargo_build
    ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/with_staged_messages.py
    --own ${PROJECT_NAME} --build ${CMAKE_CURRENT_BINARY_DIR}
    --packages ${messages} unique_identifier_msgs --command ${cargo_build})
endif()
set(cargo_build ${CMAKE_COMMAND} -E env CARGO_TARGET_DIR=${cargo_target} ${cargo_build})
# A list in a script: each argument in brackets, which nothing in it can end.
list(TRANSFORM cargo_build REPLACE "(.+)" "[==[\\1]==]")
string(REPLACE ";" " " cargo_build "${cargo_build}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/build_programs.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/build_programs.cmake @ONLY)
# Always run, since cargo tracks dependencies itself.
add_custom_target(${PROJECT_NAME}_programs ALL
  COMMAND ${CMAKE_COMMAND} -P ${CMAKE_CURRENT_BINARY_DIR}/build_programs.cmake
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
  COMMENT "cargo build"
  VERBATIM
  USES_TERMINAL
)
if(client MATCHES "^(rclrs|r2r)$")
  # The libraries of the package's own interfaces, to link with.
  add_dependencies(${PROJECT_NAME}_programs ${PROJECT_NAME}__rosidl_generator_c ${PROJECT_NAME}__rosidl_typesupport_c)
endif()
if(client STREQUAL "r2r")
  # r2r generates its types from what these libraries say of themselves.
  add_dependencies(${PROJECT_NAME}_programs ${PROJECT_NAME}__rosidl_typesupport_introspection_c)
endif()
